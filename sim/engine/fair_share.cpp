#include "engine/fair_share.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

// An activity keeps the work it had left when its speed last changed, as a double of picoseconds, and its end rounded
// to a whole picosecond. One whose speed comes out as before is not touched: its end does not drift, and one that
// always ran at speed 1 ends exactly its duration after its start.

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
  double fastest = 1;  // of Program::slower: tasks may be faster than their traffic assumes
  for (const double slower : program.slower) fastest = std::min(fastest, slower);
  return largest / fastest;
}

}  // namespace

MaxMin max_min_of(const Program& program) {
  return {capacities_of(program), largest_demand(program), program.streams.size()};
}

FairShare::FairShare(const Program& program) : running_(program.streams.size()), speeds_(max_min_of(program)) {}

void FairShare::start(StreamId stream, std::span<const LinkUse> uses, double slower, Picoseconds duration,
                      Picoseconds now) {
  Running& activity = running_[stream];
  activity.work = static_cast<double>(duration);
  activity.starts = true;
  activity.speed = 0;
  activity.since = now;
  activity.end = now + duration;
  speeds_.add(stream, uses, slower);
}

Picoseconds FairShare::first_end() const { return by_end_.empty() ? kNever : running_[by_end_.front()].end; }

StreamId FairShare::finish_first() {
  const StreamId first = by_end_.front();
  const StreamId last = by_end_.back();
  by_end_.pop_back();
  if (!by_end_.empty()) {
    put(0, last);
    sift_down(0);
  }
  running_[first].end = kNever;
  speeds_.remove(first);
  return first;
}

std::size_t FairShare::settle(Picoseconds now) {
  std::size_t changes = 0;
  for (const StreamId stream : speeds_.settle()) {
    if (running_[stream].end != kNever && change_speed(stream, speeds_.speed(stream), now)) ++changes;
  }
  return changes;
}

// Whether an activity that was already running changed its speed.
bool FairShare::change_speed(StreamId stream, double speed, Picoseconds now) {
  Running& activity = running_[stream];
  const bool starts = activity.starts;
  if (!starts && activity.speed == speed) return false;
  if (!starts)
    activity.work = std::max(0.0, activity.work - activity.speed * static_cast<double>(now - activity.since));
  activity.starts = false;
  activity.speed = speed;
  activity.since = now;
  if (!starts || speed != 1) {
    constexpr double longest_ps = 8.64e18;  // 100 days
    const double lasting = activity.work / speed;
    if (!(lasting < longest_ps - static_cast<double>(now))) {
      fail_infeasible({}, fmt::format("a task at {:.3g} of its full speed would not end within 100 days", speed),
                      "the links that it shares have too little bandwidth");
    }
    activity.end = now + std::llround(lasting);
  }
  if (starts) {
    by_end_.push_back(stream);
    put(by_end_.size() - 1, stream);
  }
  sift_up(activity.place);
  sift_down(activity.place);
  return !starts;
}

bool FairShare::ends_before(StreamId a, StreamId b) const {
  return running_[a].end != running_[b].end ? running_[a].end < running_[b].end : a < b;
}

void FairShare::put(std::size_t place, StreamId stream) {
  by_end_[place] = stream;
  running_[stream].place = static_cast<std::uint32_t>(place);
}

void FairShare::sift_up(std::size_t place) {
  const StreamId stream = by_end_[place];
  while (place > 0 && ends_before(stream, by_end_[(place - 1) / 2])) {
    put(place, by_end_[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  put(place, stream);
}

void FairShare::sift_down(std::size_t place) {
  const StreamId stream = by_end_[place];
  while (true) {
    std::size_t child = 2 * place + 1;
    if (child >= by_end_.size()) break;
    if (child + 1 < by_end_.size() && ends_before(by_end_[child + 1], by_end_[child])) ++child;
    if (!ends_before(by_end_[child], stream)) break;
    put(place, by_end_[child]);
    place = child;
  }
  put(place, stream);
}

}  // namespace mirfak
