#pragma once

#include "engine/max_min.hpp"
#include "engine/tournament.hpp"
#include "program/program.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mirfak {

// Of a program's links, with a slot for each of its streams.
MaxMin max_min_of(const Program& program);

// The activities that are running on shared links, their max-min fair speeds and their ends. An activity is a task, or
// what tasks of several ranks are together, and goes by a stream: a stream runs one task at a time.
//
// At each instant: any number of start() and finish_first(), then one settle(). Between instants speeds are constant.
// `now` must not decrease.
class FairShare {
 public:
  static constexpr Picoseconds kNever = Tournament::kNever;

  explicit FairShare(const Program& program);

  // An activity of `duration` > 0 at speed 1 begins; `uses`: each link once, of which it takes as much less as it is
  // slower. Its end is known after settle().
  void start(StreamId stream, std::span<const LinkUse> uses, double slower, Picoseconds duration, Picoseconds now);

  // The earliest end of a running activity, kNever if none runs.
  Picoseconds first_end() const { return ends_.earliest(); }

  // Removes the one that ends first (of equals, that of the lowest stream); returns its stream.
  StreamId finish_first();

  // Returns how many activities that were already running changed their speed. Error(infeasible) if one would not end
  // within 100 days.
  std::size_t settle(Picoseconds now);

  double speed(StreamId stream) const { return running_[stream].speed; }  // after settle()

 private:
  enum class State : std::uint8_t { absent, starts, runs };  // starts: not settled yet

  struct Running {
    double work = 0;  // picoseconds of work at speed 1 left at `since`
    double speed = 0;
    Picoseconds since = 0;            // when the speed last changed
    Picoseconds undisturbed_end = 0;  // at speed 1 from its start
    std::uint32_t place = 0;          // in ends_
    State state = State::absent;
  };

  void run(Running& activity, StreamId stream, double speed);
  bool change_speed(Running& activity, double speed, Picoseconds now);
  static Picoseconds end_of(const Running& activity);
  [[noreturn]] static void fail_endless(double speed);

  std::vector<Running> running_;    // by stream
  Tournament ends_;                 // of the settled ones
  std::vector<StreamId> at_place_;  // in ends_
  MaxMin speeds_;
};

}  // namespace mirfak
