#include "capture/captured_chakra.hpp"

#include "base/error.hpp"
#include "capture/captured_program.hpp"
#include "capture/captured_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace mirfak {

namespace {

// Bytes that one rank gives into communication: of what is gathered its part, else the whole buffer.
double own_bytes(const ChakraNode& node, const CapturedCommunication& made) {
  const bool gathers = node.collective == ChakraCollective::all_gather || node.collective == ChakraCollective::gather;
  return gathers ? made.in_bytes : std::max(made.in_bytes, made.out_bytes);
}

// Completes the trace of one rank with what the step says and its files state.
class TraceCompletion {
 public:
  TraceCompletion(const Capture& capture, const CapturedProgram& executed, std::size_t index)
      : capture_(capture), executed_(executed), index_(index), priced_(executed.ranks[index]) {}

  void complete(ChakraTrace& trace) {
    for (std::size_t i = 0; i < trace.nodes.size(); ++i) complete(trace.nodes[i], i);
    for (const auto& [name, size] : sizes_) trace.groups.push_back({name, size});
  }

 private:
  void complete(ChakraNode& node, std::size_t task);

  const Capture& capture_;
  const CapturedProgram& executed_;
  std::size_t index_;
  const PricedRank& priced_;
  std::map<std::pair<bool, std::int64_t>, std::int64_t> messages_;  // so far, by direction and peer
  std::map<std::string, std::int64_t> sizes_;
};

void TraceCompletion::complete(ChakraNode& node, std::size_t task) {
  const TaskId id = executed_.joined.task_of[index_][task];
  const Picoseconds start = executed_.timeline.start[id];
  const Picoseconds lasting = executed_.timeline.end[id] - start;
  node.start_us = static_cast<std::uint64_t>(start / 1'000'000);
  node.duration_us = static_cast<std::uint64_t>((lasting + 500'000) / 1'000'000);
  node.duration_ps = static_cast<std::uint64_t>(lasting);
  if (node.on_host) {
    node.stream = name_of(StreamKind::host);
    return;
  }
  const CaptureEvent& event = capture_.ranks[priced_.rank].events[static_cast<std::size_t>(priced_.tasks[task].event)];
  node.stream = fmt::format("cuda {}", event.stream);
  if (event.kind != CaptureEventKind::communicate) return;
  const CapturedCommunication& made = capture_.communication[event.entry];
  node.bytes = own_bytes(node, made);
  if (node.peer) {
    node.tag = messages_[{node.kind == ChakraNodeKind::send, *node.peer}]++;
  } else {
    sizes_[node.group] = static_cast<std::int64_t>(made.ranks.size());
  }
}

// The ranks of each group that the traces name.
std::map<std::string, std::vector<std::int64_t>> groups_of(const Capture& capture,
                                                           const std::vector<ChakraTrace>& traces) {
  std::map<std::string, std::vector<std::int64_t>> out;
  for (const ChakraTrace& trace : traces) {
    for (const ChakraGroup& group : trace.groups) out[group.name];
  }
  for (const CapturedCommunication& made : capture.communication) {
    const auto found = out.find(group_name(made));
    if (found != out.end()) found->second = made.ranks;
  }
  return out;
}

void keep_only(const std::vector<int>& ranks, const Capture& capture, std::vector<ChakraTrace>& traces) {
  if (ranks.empty()) return;
  for (const int rank : ranks) {
    const bool there = std::any_of(traces.begin(), traces.end(), [&](const auto& trace) { return trace.rank == rank; });
    if (there) continue;
    fail_input(
        {capture.file, 0, 0},
        fmt::format("rank {} is not in the capture, which has {} of {} ranks", rank, traces.size(), capture.world_size),
        "capture it, too, or leave it out");
  }
  std::erase_if(traces, [&](const ChakraTrace& trace) {
    return !std::binary_search(ranks.begin(), ranks.end(), static_cast<int>(trace.rank));
  });
}

}  // namespace

std::vector<std::string> write_chakra(const std::filesystem::path& prefix, const CapturedScenario& scenario,
                                      const CaptureSources& sources, const std::vector<int>& ranks,
                                      const ChakraHeaderTexts& texts) {
  const Capture capture = with_events_of_each(*scenario.capture);
  std::vector<ChakraTrace> traces;
  const CapturedProgram executed =
      captured_program(capture, {scenario.cluster, sources.table(), sources.framework()}, traces);
  for (std::size_t i = 0; i < traces.size(); ++i) TraceCompletion(capture, executed, i).complete(traces[i]);
  std::vector<std::string> notes;
  const auto absent = capture.world_size - static_cast<std::int64_t>(traces.size());
  keep_only(ranks, capture, traces);
  if (absent > 0 && ranks.empty()) {
    notes.push_back(fmt::format(
        "--chakra: {} of {} ranks are not in the capture and have no trace; a replay takes them to be ready", absent,
        capture.world_size));
  }
  write_chakra(prefix, traces, groups_of(capture, traces), texts);
  return notes;
}

}  // namespace mirfak
