#pragma once

#include "program/program.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mirfak {

// What runs on the shared links of a program: tasks that a rank does alone, and what several do together, which is one
// activity. Follows an execution, and says when activities begin.
class Activities {
 public:
  // `program` must outlive this.
  explicit Activities(const Program& program);

  bool uses_links(TaskId task) const { return !program_.traffic_of(task).empty(); }

  // An activity goes by the stream of the first of its tasks that began.
  struct Begun {
    StreamId stream = 0;
    std::span<const LinkUse> uses;  // each link once
    double slower = 1;              // of these as much less: Program::slower_by()
    Picoseconds duration = 0;       // at full speed, of the longest of its tasks
  };
  // A task that uses links begins. Nothing: it waits for the other tasks of its activity.
  std::optional<Begun> begin(TaskId task);
  // The tasks of a running activity; valid until one of its next begins.
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
  std::vector<Activity> activities_;    // of each group, those that may run at the same time
  std::vector<std::size_t> of_stream_;  // index into these; kAloneHere: a task alone
  std::vector<TaskId> alone_;           // by stream
};

}  // namespace mirfak
