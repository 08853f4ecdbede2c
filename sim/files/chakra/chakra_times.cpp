#include "chakra/chakra_times.hpp"

#include "engine/critical_path.hpp"
#include "engine/time_spans.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace mirfak {

namespace {

ChakraRankTimes times_of(const ChakraTrace& trace, std::span<const TaskId> tasks, const Timeline& timeline) {
  TimeSpans kernels;
  TimeSpans messages;
  TimeSpans host;
  Picoseconds last = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const ChakraNode& node = trace.nodes[i];
    const TimeSpan span{timeline.start[tasks[i]], timeline.end[tasks[i]]};
    last = std::max(last, span.end);
    const bool computes = node.kind == ChakraNodeKind::compute || node.kind == ChakraNodeKind::memory_load ||
                          node.kind == ChakraNodeKind::memory_store;
    (node.on_host ? host : computes ? kernels : messages).push_back(span);
  }
  kernels = joined(std::move(kernels));
  messages = joined(std::move(messages));
  TimeSpans both = kernels;
  both.insert(both.end(), messages.begin(), messages.end());
  const Picoseconds busy = total_length(joined(std::move(both)));
  ChakraRankTimes out;
  out.rank = trace.rank;
  out.nodes = trace.nodes.size();
  out.end_s = to_seconds(last);
  out.compute_s = to_seconds(total_length(kernels));
  out.communication_s = to_seconds(total_length(messages));
  out.exposed_s = to_seconds(busy - total_length(kernels));
  out.host_s = to_seconds(total_length(joined(std::move(host))));
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
