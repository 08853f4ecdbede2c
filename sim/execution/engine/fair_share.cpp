#include "engine/fair_share.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

// An activity keeps the work that was left when its speed last changed, as a double of picoseconds, and its end rounded
// to a whole picosecond. An activity whose speed comes out as before is not touched, so its end does not drift; an
// activity that always ran at speed 1 ends exactly its duration after its start.

namespace mirfak {

namespace {

std::vector<double> capacities_of(const Program& program) {
  std::vector<double> capacities;
  for (const Link& link : program.links) capacities.push_back(link.bytes_per_s);
  return capacities;
}

double largest_demand(const Program& program) {
  double largest = 0;
  for (const LinkUse& use : program.link_uses) largest = std::max(largest, use.bytes_per_s);
  double fastest = 1;  // smallest Program::slower: tasks may be faster than their traffic assumes
  for (const double slower : program.slower) fastest = std::min(fastest, slower);
  return largest / fastest;
}

// Rounds like std::llround() for numbers that are not negative, without a call.
Picoseconds rounded(double picoseconds) {
  const auto whole = static_cast<Picoseconds>(picoseconds);
  return whole + (picoseconds - static_cast<double>(whole) >= 0.5 ? 1 : 0);
}

}  // namespace

MaxMin max_min_of(const Program& program) {
  return {capacities_of(program), largest_demand(program), program.streams.size()};
}

FairShare::FairShare(const Program& program) : running_(program.streams.size()), speeds_(max_min_of(program)) {}

Picoseconds FairShare::end_of(const Running& activity) {
  constexpr double longest_ps = 8.64e18;  // 100 days
  const double lasting = activity.work / activity.speed;
  if (!(lasting < longest_ps - static_cast<double>(activity.since))) fail_endless(activity.speed);
  return activity.since + rounded(lasting);
}

void FairShare::fail_endless(double speed) {
  fail_infeasible({}, fmt::format("a task at {:.3g} of its full speed would not end within 100 days", speed),
                  "the links that it shares have too little bandwidth");
}

void FairShare::start(StreamId stream, std::span<const LinkUse> uses, double slower, Picoseconds duration,
                      Picoseconds now) {
  running_[stream] = {static_cast<double>(duration), 0, now, now + duration, 0, State::starts};
  speeds_.add(stream, uses, slower);
}

// Prefetches the memory of activities at later places: activities that begin together have places next to each other,
// and often end together.
inline void FairShare::prefetch_after(std::uint32_t place) const {
  constexpr std::size_t ahead = 8;
  constexpr std::size_t next = 4;
  if (place + ahead >= at_place_.size()) return;
  const StreamId later = at_place_[place + ahead];
  __builtin_prefetch(&running_[later], 1);
  speeds_.prefetch_activity(later);
  speeds_.prefetch_links_of(at_place_[place + next]);
}

StreamId FairShare::finish_first() {
  const std::uint32_t place = ends_.earliest_place();
  prefetch_after(place);
  const StreamId first = at_place_[place];
  ends_.remove(place);
  running_[first].state = State::absent;
  speeds_.remove(first);
  return first;
}

void FairShare::run(Running& activity, StreamId stream, double speed) {
  activity.state = State::runs;
  activity.speed = speed;
  activity.place = ends_.add(speed == 1 ? activity.undisturbed_end : end_of(activity));
  if (activity.place >= at_place_.size()) at_place_.resize(2 * std::size_t{activity.place} + 1);
  at_place_[activity.place] = stream;
}

// Returns true if the speed changed.
inline bool FairShare::change_speed(Running& activity, double speed, Picoseconds now) {
  if (activity.speed == speed) return false;
  activity.work = std::max(0.0, activity.work - activity.speed * static_cast<double>(now - activity.since));
  activity.speed = speed;
  activity.since = now;
  ends_.change(activity.place, end_of(activity));
  return true;
}

std::size_t FairShare::settle(Picoseconds now) {
  std::size_t changes = 0;
  for (const StreamId stream : speeds_.settle()) {
    Running& activity = running_[stream];
    const double speed = speeds_.speed(stream);
    if (activity.state == State::runs) {
      changes += change_speed(activity, speed, now) ? 1 : 0;
    } else if (activity.state == State::starts) {
      run(activity, stream, speed);
    }
  }
  return changes;
}

}  // namespace mirfak
