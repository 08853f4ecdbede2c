#pragma once

#include "executor/rank_plan.hpp"

#include <span>
#include <string>

namespace mirfak::measure {

// The time of one task of a rank, in seconds on the common clock of all ranks.
struct TaskTime {
  double ready = 0;  // it began, or, where others take part, it was ready for them
  double end = 0;
};

// Executes the tasks of one rank on real hardware. An executor is made with a RankPlan and knows four kinds of work,
// which are the operations of the plan: kernels (compute), collectives, transfers (send, receive) and meetings; and it
// takes the time of each. Queues run in order, tasks wait for those of RankTask::after and nothing else.
//
// The CPU executor (cpu_executor.hpp) runs a task when its turn comes. An executor on a GPU would hand all tasks to
// device streams in the order of the plan, one stream a queue and an event behind each task, and read the events when
// the iteration is over: hence one call for a whole iteration, and no call for a single task.
class Executor {
 public:
  Executor() = default;
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  virtual std::string backend() const = 0;  // "cpu"
  virtual std::string machine() const = 0;  // what this rank runs on, for people

  // Runs every task once; all ranks call together. Throws Error(internal) that says who waited for what when nothing
  // went on for as long as the executor was told to wait.
  virtual void iterate() = 0;
  // The times of the last of these iterations, in the order of RankPlan::tasks.
  virtual std::span<const TaskTime> times() const = 0;

  // True if taking the time of each task takes so long itself that an iteration has to be timed without.
  virtual bool marks_take_time() const { return false; }
  // Runs every task once and takes no times but when the first began and the last ended on this rank.
  virtual TaskTime iterate_unmarked();
};

// The time from the first beginning to the last end.
TaskTime span_of(std::span<const TaskTime> times);

}  // namespace mirfak::measure
