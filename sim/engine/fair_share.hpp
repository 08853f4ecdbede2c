#pragma once

#include "engine/max_min.hpp"
#include "program/program.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace mirfak {

// The running tasks that use links, their max-min fair speeds and their ends. A stream runs one task at a time, so
// the stream names the running task.
//
// At each instant: any number of start() and finish_first(), then one settle(), which solves anew only what they
// touched. Between instants speeds are constant. `now` must not decrease.
class FairShare {
 public:
  static constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max();

  explicit FairShare(const Program& program);

  // Whether tasks of the class use any link.
  bool uses_links(ClassId task_class) const { return class_begin_[task_class] != class_begin_[task_class + 1]; }

  // The stream begins a task that needs `duration` > 0 at speed 1. Its end is known after settle().
  void start(StreamId stream, ClassId task_class, Picoseconds duration, Picoseconds now);

  // The earliest end of a running task, kNever if none runs.
  Picoseconds first_end() const;

  // Removes the running task that ends first (of equals, the one on the lowest stream); returns its stream.
  StreamId finish_first();

  // Solves what the starts and ends since the last call touched. Returns how many tasks that were already running
  // changed their speed. Error(infeasible) if a task would not end within 100 days.
  std::size_t settle(Picoseconds now);

  // Of the task running on the stream; valid after settle().
  double speed(StreamId stream) const { return running_[stream].speed; }

 private:
  struct Running {
    double work = 0;        // picoseconds of work at speed 1 left at `since`
    double speed = 0;       // 0: not settled yet
    Picoseconds since = 0;  // when the speed last changed
    Picoseconds end = 0;
    ClassId task_class = 0;
    std::uint32_t place = 0;      // in by_end_
    std::uint64_t component = 0;  // the last component it was collected into
  };
  struct LinkState {
    double capacity = 0;
    double load = 0;               // sum of the demands of its users at full speed
    std::uint32_t first_user = 0;  // head of a list through users_
    std::uint64_t component = 0;   // the last component it was collected into
    std::uint32_t place = 0;       // its number in that component
  };
  // One use of a link by the task running on a stream: a node of the link's doubly linked list.
  struct User {
    StreamId stream = 0;
    std::uint32_t next = 0;
    std::uint32_t previous = 0;
  };

  bool may_saturate(const LinkState& link) const;
  std::span<const MaxMinProblem::Use> uses_of(ClassId task_class) const;
  void join(StreamId stream);
  void leave(StreamId stream);

  void collect_component();
  void collect_task(StreamId stream);
  void collect_link(LinkId link);
  void sort_tasks();
  void describe_component();
  void change_speed(StreamId stream, double speed, Picoseconds now);

  bool ends_before(StreamId a, StreamId b) const;
  void put(std::size_t place, StreamId stream);
  void sift_up(std::size_t place);
  void sift_down(std::size_t place);

  std::vector<MaxMinProblem::Use> uses_;    // of all classes
  std::vector<std::uint32_t> class_begin_;  // those of class c are uses_[class_begin_[c] .. class_begin_[c + 1])
  std::vector<Running> running_;            // per stream
  std::vector<LinkState> links_;
  std::vector<User> users_;  // node k of stream s stands at user_begin_[s] + k
  std::vector<std::uint32_t> user_begin_;
  std::vector<StreamId> by_end_;  // a binary heap of the settled tasks, by (end, stream)

  std::uint64_t component_ = 0;          // number of the component being solved
  std::vector<StreamId> touched_tasks_;  // started since the last settle()
  std::vector<LinkId> touched_links_;    // short when a task ended on them
  std::vector<StreamId> tasks_;          // of the component
  std::vector<LinkId> component_links_;
  MaxMinProblem problem_;
  MaxMinSolver solver_;
};

}  // namespace mirfak
