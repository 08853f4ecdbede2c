#include "program/program.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
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

Picoseconds to_picoseconds(double seconds) {
  constexpr double longest_s = 8.64e6;  // 100 days
  if (!(seconds >= 0 && seconds < longest_s)) {
    fail_internal(fmt::format("a duration of {} s is outside [0, 100 days)", seconds));
  }
  return static_cast<Picoseconds>(std::llround(seconds * 1e12));
}

bool Program::shares_links() const {
  return std::any_of(classes.begin(), classes.end(), [](const TaskClass& c) { return !c.demands.empty(); });
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

StreamId Program::add_stream(std::uint32_t rank, StreamKind kind) {
  streams.push_back({rank, kind});
  return static_cast<StreamId>(streams.size() - 1);
}

ClassId Program::add_class(TaskClass description) {
  classes.push_back(std::move(description));
  return static_cast<ClassId>(classes.size() - 1);
}

void Program::validate() const {
  const std::size_t n = size();
  if (stream.size() != n || task_class.size() != n || microbatch.size() != n || dependency_begin.size() != n + 1) {
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
  for (const TaskClass& c : classes) {
    for (const auto& [link, rate] : c.demands) {
      if (link >= links.size() || !(rate >= 0)) fail_internal("program: a demand on no link, or below zero");
    }
  }
}

}  // namespace mirfak
