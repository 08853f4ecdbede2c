#include "program/program.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace mirfak {

std::string_view name_of(StreamKind kind) {
  constexpr std::array<std::string_view, kStreamKinds> names = {
      "host",         "compute",      "tensor",        "context",       "expert", "data",
      "send_forward", "recv_forward", "send_backward", "recv_backward", "group"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name_of(TaskKind kind) {
  constexpr std::array<std::string_view, kTaskKinds> names = {
      "forward", "backward", "weight_gradient", "kernel", "collective", "transfer", "optimizer", "issue", "meeting"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name_of(GroupKind kind) {
  constexpr std::array<std::string_view, kGroupKinds> names = {"team",
                                                               "tensor",
                                                               "context",
                                                               "expert",
                                                               "data",
                                                               "shard",
                                                               "across",
                                                               "expert_data",
                                                               "tied_embedding",
                                                               "part",
                                                               "transfer",
                                                               "all",
                                                               "second_copy",
                                                               "node",
                                                               "between_nodes",
                                                               "weights",
                                                               "weight_copies",
                                                               "expert_weights",
                                                               "expert_weight_copies"};
  return names[static_cast<std::size_t>(kind)];
}

Picoseconds to_picoseconds(double seconds) {
  constexpr double longest_s = 8.64e6;  // 100 days
  if (!(seconds >= 0 && seconds < longest_s)) {
    fail_internal(fmt::format("a duration of {} s is outside [0, 100 days)", seconds));
  }
  return static_cast<Picoseconds>(std::llround(seconds * 1e12));
}

TaskId Program::add_task(StreamId on, ClassId of, Picoseconds lasting, std::span<const TaskId> after,
                         std::int32_t of_microbatch) {
  const auto id = static_cast<TaskId>(duration.size());
  duration.push_back(lasting);
  stream.push_back(on);
  task_class.push_back(of);
  microbatch.push_back(of_microbatch);
  dependencies.insert(dependencies.end(), after.begin(), after.end());
  dependency_begin.push_back(static_cast<TaskId>(dependencies.size()));
  return id;
}

void Program::reserve(std::size_t tasks, std::size_t of_classes) {
  for (auto* column : {&stream, &task_class, &dependency_begin}) column->reserve(tasks + 1);
  duration.reserve(tasks);
  microbatch.reserve(tasks);
  dependencies.reserve(2 * tasks);
  classes.reserve(of_classes);
}

StreamId Program::add_stream(std::uint32_t rank, StreamKind kind) {
  streams.push_back({rank, kind});
  return static_cast<StreamId>(streams.size() - 1);
}

ClassId Program::add_class(TaskClass description) {
  classes.push_back(std::move(description));
  return static_cast<ClassId>(classes.size() - 1);
}

std::uint32_t Program::add_traffic(std::span<const LinkUse> uses) {
  link_uses.insert(link_uses.end(), uses.begin(), uses.end());
  link_use_begin.push_back(static_cast<std::uint32_t>(link_uses.size()));
  return static_cast<std::uint32_t>(link_use_begin.size() - 2);
}

StreamKind sending_stream(StreamKind kind) {
  if (kind == StreamKind::recv_forward) return StreamKind::send_forward;
  return kind == StreamKind::recv_backward ? StreamKind::send_backward : kind;
}

namespace {

void check_groups(const Program& program) {
  for (const Grouping& grouping : program.groupings) {
    if (grouping.of_rank.size() != program.ranks.size()) fail_internal("program: a grouping of other ranks");
    for (std::uint32_t rank = 0; rank < grouping.of_rank.size(); ++rank) {
      const GroupId id = grouping.of_rank[rank];
      if (id == kNoGroup) continue;
      if (id >= program.groups.size()) fail_internal(fmt::format("program: rank {} is in no such group", rank));
      const Group& group = program.groups[id];
      const bool member = std::binary_search(group.ranks.begin(), group.ranks.end(), rank);
      if (!member || group.kind != grouping.kind || group.size < group.ranks.size()) {
        fail_internal(fmt::format("program: rank {} is not in its {} group", rank, name_of(grouping.kind)));
      }
    }
  }
  for (TaskId task = 0; task < program.size(); ++task) {
    if (program.class_of(task).grouping == kAlone || program.group_of(task) != kNoGroup) continue;
    fail_internal(fmt::format("program: task {}, {}, is of a rank without a group", task, program.class_of(task).name));
  }
}

// The first of a group's ranks that are on another stage than `rank`.
std::uint32_t first_of_other_stage(const Program& program, const Group& group, std::uint32_t rank) {
  for (const std::uint32_t other : group.ranks) {
    if (program.ranks[other].stage != program.ranks[rank].stage) return other;
  }
  return rank;
}

}  // namespace

std::vector<TaskId> acting_together(const Program& program) {
  // Number of a task among the tasks of its group on one kind of stream; transfers are counted for each direction.
  struct Turn {
    GroupId group = 0;
    StreamKind stream{};
    std::uint32_t sender = 0;
    std::uint32_t count = 0;

    auto operator<=>(const Turn&) const = default;
  };
  std::map<std::pair<Turn, std::uint32_t>, std::uint32_t> counts;  // for each rank
  std::map<Turn, TaskId> first;
  std::vector<TaskId> out(program.size());
  for (TaskId task = 0; task < program.size(); ++task) {
    out[task] = task;
    const TaskKind kind = program.class_of(task).kind;
    const GroupId id = program.group_of(task);
    if (id == kNoGroup || (kind != TaskKind::collective && kind != TaskKind::transfer)) continue;
    const Group& group = program.groups[id];
    if (group.ranks.size() < 2) continue;
    const std::uint32_t rank = program.rank_of(task);
    const StreamKind stream = program.streams[program.stream[task]].kind;
    Turn place{id, sending_stream(stream), 0, 0};
    if (kind == TaskKind::transfer) {
      const std::uint32_t other = first_of_other_stage(program, group, rank);
      place.sender = place.stream == stream ? first_of_other_stage(program, group, other) : other;
    }
    place.count = counts[{place, rank}]++;
    const auto [found, added] = first.try_emplace(place, task);
    out[task] = found->second;
    const auto own = program.dependencies_of(task);
    const auto others = program.dependencies_of(out[task]);
    if (added || std::equal(own.begin(), own.end(), others.begin(), others.end())) continue;
    fail_internal(fmt::format("program: tasks {} and {}, {}, are one and wait for different tasks", out[task], task,
                              program.class_of(task).name));
  }
  return out;
}

void Program::validate() const {
  const std::size_t n = size();
  if (stream.size() != n || (!slower.empty() && slower.size() != n) || task_class.size() != n ||
      microbatch.size() != n || dependency_begin.size() != n + 1) {
    fail_internal("program: columns of different length");
  }
  for (TaskId task = 0; task < n; ++task) {
    if (duration[task] < 0) fail_internal(fmt::format("program: task {} has a negative duration", task));
    if (stream[task] >= streams.size()) fail_internal(fmt::format("program: task {} is on no stream", task));
    if (task_class[task] >= classes.size()) fail_internal(fmt::format("program: task {} has no class", task));
    for (const TaskId before : dependencies_of(task)) {
      if (before >= task) fail_internal(fmt::format("program: task {} depends on the later task {}", task, before));
    }
  }
  for (const LinkUse& use : link_uses) {
    if (use.link >= links.size() || !(use.bytes_per_s > 0)) fail_internal("program: traffic on no link, or of nothing");
  }
  check_groups(*this);
  acting_together(*this);
}

}  // namespace mirfak
