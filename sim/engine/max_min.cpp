#include "engine/max_min.hpp"

#include <algorithm>
#include <functional>

// Progressive filling raises the speeds of all activities together from 0; when a link saturates, those on it stay at
// that speed and the others rise on. So the solution is a level for each link, the speed at which it saturates, and
//
//   speed of an activity = the lowest level of its links (1 if none saturates)
//   level of a link      = its capacity less what those of its activities use that other links hold back below that
//                          level, over the demands of the others
//
// Each says what the other needs, and there is one solution only. For a start or an end changes some links' lists, and
// whatever follows happens at speeds at which filling would take another course: from the lowest of a link's old and
// new levels upwards. So links whose level is out of date wait in a queue by that speed. When the first one gets its new
// level, the links are looked at again that share an activity with it which either level, the old or the new, holds back
// below theirs. Everything else is as it was, and is never touched: of 1,024 flows that share a network a start and an
// end change 30.
//
// Why it ends, and with the same bits as from an empty network: a link's level is computed by level_of() from nothing but
// its list and the levels of other links that are below it, in a fixed order, and never comes out below capacity over
// all demands. Among these the lowest link, once looked at, can never change again; then, with its activities held back,
// the second lowest; and so on. So there is one solution in floating point too.
//
// Example: link A of 10 with x (demand 10) and y (10), link B of 12 with y (6) and z (9). A saturates at 10/20 = 0.5, B
// at 12/15 = 0.8 with y rising, but y is held back by A: (12 - 6 x 0.5)/9 = 1, it does not saturate. x = y = 0.5, z = 1.
// Now x ends. A saturates at 10/10 = 1, not at all; from 0.5 on y is held back no longer, so B is looked at again: 0.8.

namespace mirfak {

namespace {

constexpr double kNever = 1;      // the level of a link that does not saturate
constexpr double kNotQueued = 2;  // above every level
constexpr double kFewRise = 1e-3;  // of a link's demands: what subtraction leaves of them is then added up anew

}  // namespace

MaxMin::MaxMin(std::vector<double> capacities, std::size_t slots) : links_(capacities.size()), activities_(slots) {
  for (std::size_t link = 0; link < links_.size(); ++link) links_[link].capacity = capacities[link];
}

void MaxMin::add(std::uint32_t slot, std::span<const Use> uses) {
  Activity& activity = activities_[slot];
  activity.uses = uses;
  find_levels(activity);
  for (const Use& use : uses) {
    Link& link = links_[use.link];
    const auto place = std::partition_point(link.users.begin(), link.users.end(),
                                            [slot](const User& user) { return user.slot < slot; });
    link.users.insert(place, {slot, use.demand});
    link.load += use.demand;
    if (may_saturate(link)) mark_stale(use.link);
  }
  touch(slot);
}

void MaxMin::remove(std::uint32_t slot) {
  Activity& activity = activities_[slot];
  for (const Use& use : activity.uses) {
    Link& link = links_[use.link];
    if (may_saturate(link)) mark_stale(use.link);
    link.users.erase(std::partition_point(link.users.begin(), link.users.end(),
                                          [slot](const User& user) { return user.slot < slot; }));
    link.load = link.users.empty() ? 0 : link.load - use.demand;
  }
  activity.uses = {};
  activity.first = activity.second = {};
}

void MaxMin::touch(std::uint32_t slot) {
  if (activities_[slot].touched) return;
  activities_[slot].touched = true;
  touched_.push_back(slot);
}

void MaxMin::mark_stale(std::uint32_t link) {
  if (links_[link].stale) return;
  links_[link].stale = true;
  stale_.push_back(link);
}

void MaxMin::find_levels(Activity& activity) const {
  activity.first = activity.second = {};
  for (const Use& use : activity.uses) {
    const Level level{links_[use.link].level, use.link};
    if (level.speed == kNever) continue;
    if (level < activity.first) {
      activity.second = activity.first;
      activity.first = level;
    } else if (level < activity.second) {
      activity.second = level;
    }
  }
}

double MaxMin::level_of(std::uint32_t id) {
  Link& link = links_[id];
  if (!may_saturate(link)) return kNever;
  double all = 0;
  Level lowest;
  held_.clear();
  for (const User& user : link.users) {
    all += user.demand;
    const Level by = without(activities_[user.slot], id);
    if (by.speed == kNever) continue;
    held_.push_back({by, user.demand});
    if (by < lowest) lowest = by;
  }
  link.load = all;
  const double level = link.capacity / all;
  if (!(level < kNever)) return kNever;
  return lowest < Level{level, id} ? filled(id, level) : level;
}

// `level`: with nobody held back. Those that are leave more to the others, so it rises until the next ones would be held
// back above it. Whoever is, by whatever, must not change a bit.
double MaxMin::filled(std::uint32_t id, double level) {
  const Link& link = links_[id];
  std::stable_sort(held_.begin(), held_.end(), [](const Held& a, const Held& b) { return a.by < b.by; });
  double free = link.capacity;
  double rising = link.load;
  for (std::size_t k = 0; k < held_.size() && held_[k].by < Level{level, id};) {
    const Level by = held_[k].by;
    for (; k < held_.size() && held_[k].by == by; ++k) {
      free -= by.speed * held_[k].demand;
      rising -= held_[k].demand;
    }
    if (k == link.users.size()) return kNever;
    if (rising < kFewRise * link.load) rising = demand_above(link, id, by);
    level = std::max(level, free / rising);  // rounding must not let it fall
    if (!(level < kNever)) return kNever;
  }
  return level;
}

// Of the users that no other link holds back at `by` or below.
double MaxMin::demand_above(const Link& link, std::uint32_t id, const Level& by) const {
  double demand = 0;
  for (const User& user : link.users) {
    if (by < without(activities_[user.slot], id)) demand += user.demand;
  }
  return demand;
}

// Activities whose lowest levels this changes, and the links that see it.
void MaxMin::change_level(std::uint32_t id, double level) {
  Link& link = links_[id];
  link.level = level;
  for (const User& user : link.users) {
    Activity& activity = activities_[user.slot];
    const Level first = activity.first;
    const Level second = activity.second;
    find_levels(activity);
    if (activity.first == first && activity.second == second) continue;
    if (activity.first.speed != first.speed) touch(user.slot);
    for (const Use& use : activity.uses) {
      if (use.link == id || links_[use.link].stale) continue;
      const Level before = first.link == use.link ? second : first;
      const Level after = without(activity, use.link);
      if (before == after || !may_saturate(links_[use.link])) continue;
      if (std::min(before, after) < Level{links_[use.link].level, use.link}) mark_stale(use.link);
    }
  }
}

void MaxMin::queue_stale() {
  for (const std::uint32_t id : stale_) {
    Link& link = links_[id];
    link.stale = false;
    const double level = level_of(id);
    const double from = std::min(level, link.level);
    if (level == link.level || from >= link.queued) continue;
    link.queued = from;
    queue_.push_back({from, id});
    std::push_heap(queue_.begin(), queue_.end(), [](const Level& a, const Level& b) { return b < a; });
  }
  stale_.clear();
}

std::span<const std::uint32_t> MaxMin::settle() {
  queue_stale();
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), [](const Level& a, const Level& b) { return b < a; });
    const Level next = queue_.back();
    queue_.pop_back();
    Link& link = links_[next.link];
    if (link.queued != next.speed) continue;
    link.queued = kNotQueued;
    const double level = level_of(next.link);
    if (level == link.level) continue;
    if (std::min(level, link.level) > next.speed) {
      mark_stale(next.link);
    } else {
      change_level(next.link, level);
    }
    queue_stale();
  }
  for (const std::uint32_t slot : touched_) activities_[slot].touched = false;
  given_out_.swap(touched_);
  touched_.clear();
  return given_out_;
}

}  // namespace mirfak
