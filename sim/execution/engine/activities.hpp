#pragma once

#include "program/program.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mirfak {

// Collects the activities on the shared links of a program: a task that one rank does alone is an activity, and the
// tasks that several ranks do together are one activity. Follows an execution and reports when an activity begins.
class Activities {
 public:
  // `program` must outlive this object.
  explicit Activities(const Program& program);

  bool uses_links(TaskId task) const { return !program_.traffic_of(task).empty(); }

  // An activity that has begun, identified by the stream of the first of its tasks that began.
  struct Begun {
    StreamId stream = 0;
    std::span<const LinkUse> uses;  // each link once
    double slower = 1;              // factor that divides the bandwidths in `uses`: Program::slower_by()
    Picoseconds duration = 0;       // at full speed: the longest duration of its tasks
  };
  // Begins a task that uses links. Returns nullopt if the task has to wait for the other tasks of its activity.
  std::optional<Begun> begin(TaskId task);
  // Returns the tasks of a running activity; valid until a task begins that follows one of them on its stream.
  std::span<const TaskId> tasks_of(StreamId stream) const;

 private:
  struct Activity {
    StreamId stream = 0;
    std::size_t missing = 0;
    Picoseconds longest = 0;
    std::vector<TaskId> tasks;
  };

  std::size_t together(TaskId task, GroupId group) const;

  const Program& program_;
  std::vector<Activity> activities_;    // for each group, the activities that may run at the same time
  std::vector<std::size_t> of_stream_;  // index into `activities_`; kAloneHere: the stream runs a task alone
  std::vector<TaskId> alone_;           // task that runs alone, by stream
};

}  // namespace mirfak
