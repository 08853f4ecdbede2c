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
    Picoseconds end = kNever;
    bool starts = false;
    std::uint32_t place = 0;  // in by_end_
  };

  std::span<const MaxMin::Use> uses_of(ClassId task_class) const;
  bool change_speed(StreamId stream, double speed, Picoseconds now);

  bool ends_before(StreamId a, StreamId b) const;
  void put(std::size_t place, StreamId stream);
  void sift_up(std::size_t place);
  void sift_down(std::size_t place);

  std::vector<MaxMin::Use> uses_;           // of all classes
  std::vector<std::uint32_t> class_begin_;  // those of class c are uses_[class_begin_[c] .. class_begin_[c + 1])
  std::vector<Running> running_;            // per stream
  std::vector<StreamId> by_end_;            // a binary heap of the settled tasks, by (end, stream)
  MaxMin speeds_;
};

}  // namespace mirfak
