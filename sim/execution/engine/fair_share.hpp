#pragma once

#include "engine/max_min.hpp"
#include "engine/tournament.hpp"
#include "program/program.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mirfak {

// Returns the MaxMin of a program's links, with one slot for each of its streams.
MaxMin max_min_of(const Program& program);

// Activities that are running on shared links, with their max-min fair speeds and their ends. An activity is one task,
// or the tasks that several ranks do together, and is identified by a stream: a stream runs one task at a time.
//
// At each instant, start() and finish_first() are called any number of times, then settle() once. Speeds are constant
// between instants. `now` must not decrease.
class FairShare {
 public:
  static constexpr Picoseconds kNever = Tournament::kNever;

  explicit FairShare(const Program& program);

  // Begins an activity of `duration` > 0 at speed 1. `uses` names each link once; its bandwidths are divided by
  // `slower`. The end of the activity is known after settle().
  void start(StreamId stream, std::span<const LinkUse> uses, double slower, Picoseconds duration, Picoseconds now);

  // Returns the earliest end of a running activity; kNever if none runs.
  Picoseconds first_end() const { return ends_.earliest(); }

  // Removes the activity that ends first (of equal ends, the one at the lowest place in ends_); returns its stream.
  StreamId finish_first();

  // Brings the speeds up to date. Returns the number of activities that were already running and changed their speed.
  // Error(infeasible) if an activity would not end within 100 days.
  std::size_t settle(Picoseconds now);

  double speed(StreamId stream) const { return running_[stream].speed; }  // valid after settle()

 private:
  enum class State : std::uint8_t { absent, starts, runs };  // starts: not settled yet

  struct Running {
    double work = 0;  // picoseconds of work, at speed 1, left at `since`
    double speed = 0;
    Picoseconds since = 0;            // time of the last change of speed
    Picoseconds undisturbed_end = 0;  // end if it runs at speed 1 from its start
    std::uint32_t place = 0;          // index into ends_
    State state = State::absent;
  };

  void run(Running& activity, StreamId stream, double speed);
  void prefetch_after(std::uint32_t place) const;
  bool change_speed(Running& activity, double speed, Picoseconds now);
  static Picoseconds end_of(const Running& activity);
  [[noreturn]] static void fail_endless(double speed);

  std::vector<Running> running_;    // by stream
  Tournament ends_;                 // ends of the settled activities
  std::vector<StreamId> at_place_;  // stream at each place in ends_
  MaxMin speeds_;
};

}  // namespace mirfak
