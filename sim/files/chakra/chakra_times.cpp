#include "chakra/chakra_times.hpp"

#include "engine/critical_path.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace mirfak {

namespace {

using Spans = std::vector<std::pair<Picoseconds, Picoseconds>>;

// Returns the union of intervals as disjoint intervals, in order.
Spans merged(Spans spans) {
  std::sort(spans.begin(), spans.end());
  Spans out;
  for (const auto& [start, end] : spans) {
    if (start == end) continue;
    if (!out.empty() && start <= out.back().second) {
      out.back().second = std::max(out.back().second, end);
    } else {
      out.emplace_back(start, end);
    }
  }
  return out;
}

Picoseconds length(const Spans& disjoint) {
  Picoseconds out = 0;
  for (const auto& [start, end] : disjoint) out += end - start;
  return out;
}

ChakraRankTimes times_of(const ChakraTrace& trace, std::span<const TaskId> tasks, const Timeline& timeline) {
  Spans kernels;
  Spans messages;
  Spans host;
  Picoseconds last = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const ChakraNode& node = trace.nodes[i];
    const std::pair span{timeline.start[tasks[i]], timeline.end[tasks[i]]};
    last = std::max(last, span.second);
    const bool computes = node.kind == ChakraNodeKind::compute || node.kind == ChakraNodeKind::memory_load ||
                          node.kind == ChakraNodeKind::memory_store;
    (node.on_host ? host : computes ? kernels : messages).push_back(span);
  }
  kernels = merged(std::move(kernels));
  messages = merged(std::move(messages));
  Spans both = kernels;
  both.insert(both.end(), messages.begin(), messages.end());
  const Picoseconds busy = length(merged(std::move(both)));
  ChakraRankTimes out;
  out.rank = trace.rank;
  out.nodes = trace.nodes.size();
  out.end_s = to_seconds(last);
  out.compute_s = to_seconds(length(kernels));
  out.communication_s = to_seconds(length(messages));
  out.exposed_s = to_seconds(busy - length(kernels));
  out.host_s = to_seconds(length(merged(std::move(host))));
  out.idle_s = to_seconds(timeline.makespan - busy);
  return out;
}

std::string_view kind_of(const TaskClass& described) {
  switch (described.kind) {
    case TaskKind::collective:
      return "collective";
    case TaskKind::transfer:
      return "message";
    case TaskKind::issue:
      return "host";
    default:
      return "compute";
  }
}

std::vector<ChakraPathPart> parts_of_path(const Program& program, const Timeline& timeline) {
  std::map<std::pair<std::string_view, std::string>, ChakraPathPart> parts;
  for (const TaskId task : critical_path(program, timeline)) {
    const TaskClass& described = program.class_of(task);
    if (timeline.end[task] == timeline.start[task]) continue;
    ChakraPathPart& part = parts[{kind_of(described), described.name}];
    part.name = described.name;
    part.kind = kind_of(described);
    ++part.nodes;
    part.seconds += to_seconds(timeline.end[task] - timeline.start[task]);
  }
  std::vector<ChakraPathPart> out;
  for (auto& [name, part] : parts) out.push_back(std::move(part));
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return out;
}

}  // namespace

ChakraTimes chakra_times(std::span<const ChakraTrace> traces, const ChakraProgram& joined, const Timeline& timeline) {
  ChakraTimes out;
  out.iteration_s = to_seconds(timeline.makespan);
  for (std::size_t t = 0; t < traces.size(); ++t) out.ranks.push_back(times_of(traces[t], joined.task_of[t], timeline));
  out.critical_path = parts_of_path(joined.program, timeline);
  return out;
}

}  // namespace mirfak
