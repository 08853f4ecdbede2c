#include "engine/max_min.hpp"

#include <algorithm>
#include <cmath>

// Progressive filling raises the speeds of all activities together from 0; when a link saturates, those on it stay at
// that speed and the others rise on. So the solution is a level for each link, the speed at which it saturates, and
//
//   speed of an activity = the lowest level of its links (1 if none saturates)
//   level of a link      = its capacity less what those of its activities use that other links hold back below that
//                          level, over the demands of the others
//
// Each says what the other needs. A start or an end changes some links' lists, and whatever follows happens at speeds
// at which filling takes another course: from the lower of a link's old and new levels upwards. So links whose level is
// out of date wait in a queue by that speed. When the first one gets its new level, those links are looked at again that
// share an activity with it which either level, the old or the new, holds back below theirs. Everything else is as it
// was, and is never touched: of 1,024 flows that share a network a start and an end change 30.
//
// Why it ends, and with the same bits as from an empty network: level_of() is a function of a link's list and of the
// levels of other links that are below its own, its sums are exact and so have no order, and it never falls below
// capacity over all demands. Among these the lowest link, once looked at, can never change again; then, with its
// activities held back, the second lowest; and so on. So there is one solution, in floating point too.
//
// Example: link A of 10 with x (demand 10) and y (10), link B of 12 with y (6) and z (9). A saturates at 10/20 = 0.5, B
// at 12/15 = 0.8 with y rising, but y is held back by A: (12 - 6 x 0.5)/9 = 1, it does not saturate. x = y = 0.5, z = 1.
// Now x ends. A saturates at 10/10 = 1, not at all; from 0.5 on y is held back no longer, so B is looked at again: 0.8.

namespace mirfak {

namespace {

constexpr double kNever = 1;           // the level of a link that does not saturate
constexpr double kFull = 1 - 1e-10;    // a level from which on it is taken for such a one
constexpr double kNotQueued = 2;       // above every level
constexpr double kSpeedUnits = 0x1p54; // in which speeds enter sums
constexpr int kBits = 52;              // of the largest demand or capacity

constexpr auto kLater = [](const auto& a, const auto& b) { return b < a; };

}  // namespace

MaxMin::MaxMin(const std::vector<double>& capacities, double largest_demand, std::size_t slots)
    : links_(capacities.size()), activities_(slots) {
  const double largest =
      capacities.empty() ? largest_demand
                         : std::max(largest_demand, *std::max_element(capacities.begin(), capacities.end()));
  if (largest > 0) unit_ = std::ldexp(1.0, kBits - 1 - std::ilogb(largest));
  for (std::size_t link = 0; link < links_.size(); ++link) links_[link].capacity = exact(capacities[link]);
}

MaxMin::Exact MaxMin::exact(double bytes_per_s) const { return std::llrint(bytes_per_s * unit_); }

void MaxMin::change_load(Link& link, Exact by) {
  link.load += by;
  link.scarce = static_cast<double>(link.capacity) < kFull * static_cast<double>(link.load);
}

void MaxMin::add(std::uint32_t slot, std::span<const Use> uses) {
  Activity& activity = activities_[slot];
  for (const Use& use : uses) {
    Link& link = links_[use.link];
    const auto place = static_cast<std::uint32_t>(link.users.size());
    link.users.push_back({{}, slot, static_cast<std::uint32_t>(activity.uses.size()), exact(use.demand)});
    activity.uses.push_back({use.link, place});
    change_load(link, link.users.back().demand);
    if (link.scarce) mark_stale(use.link);
  }
  for (const Used& use : activity.uses) links_[use.link].users[use.place].held = lowest(activity, use.link);
  activity.held = lowest(activity, kNoLink);
  touch(slot);
}

void MaxMin::remove(std::uint32_t slot) {
  Activity& activity = activities_[slot];
  for (const Used& use : activity.uses) {
    Link& link = links_[use.link];
    if (link.scarce) mark_stale(use.link);
    change_load(link, -link.users[use.place].demand);
    const User& last = link.users[use.place] = link.users.back();
    activities_[last.slot].uses[last.use].place = use.place;
    link.users.pop_back();
  }
  activity.uses.clear();
  activity.held = {};
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

MaxMin::Level MaxMin::lowest(const Activity& activity, std::uint32_t except) const {
  Level found;
  for (const Used& use : activity.uses) {
    const Level level{links_[use.link].level, use.link};
    if (level.speed != kNever && use.link != except && level < found) found = level;
  }
  return found;
}

MaxMin::HeldBack MaxMin::held_below(const Link& link, const Level& level) {
  HeldBack held;
  for (const User& user : link.users) {
    if (!(user.held < level)) continue;
    ++held.users;
    held.demand += user.demand;
    held.used += static_cast<Wide>(static_cast<Exact>(user.held.speed * kSpeedUnits)) * user.demand;
  }
  return held;
}

// What those held back leave, over the demands of the others.
double MaxMin::quotient(const Link& link, const HeldBack& held) const {
  const Wide left = static_cast<Wide>(link.capacity) * static_cast<Exact>(kSpeedUnits) - held.used;
  const double high = static_cast<double>(static_cast<std::int64_t>(left >> 64)) * 0x1p64;
  const double low = static_cast<double>(static_cast<std::uint64_t>(left));
  return (high + low) / (kSpeedUnits * static_cast<double>(link.load - held.demand));
}

// With nobody held back the level is lowest. Those that are leave more to the others, so it rises, until the next ones
// would be held back above it.
double MaxMin::level_of(std::uint32_t id) const {
  const Link& link = links_[id];
  if (!link.scarce) return kNever;
  double level = static_cast<double>(link.capacity) / static_cast<double>(link.load);
  for (std::size_t known = 0;;) {
    const HeldBack held = held_below(link, {level, id});
    if (held.users == known) return level;
    if (held.users == link.users.size()) return kNever;
    level = std::max(level, quotient(link, held));  // rounding must not let it fall
    if (level >= kFull) return kNever;
    known = held.users;
  }
}

// Tells the activities on the link, and through them the links that this may concern.
void MaxMin::change_level(std::uint32_t id, double level) {
  Link& link = links_[id];
  link.level = level;
  const Level own = level == kNever ? Level{} : Level{level, id};
  for (const User& user : link.users) {
    Activity& activity = activities_[user.slot];
    const Level held = std::min(own, user.held);
    if (held.speed != activity.held.speed) touch(user.slot);
    activity.held = held;
    if (activity.uses.size() == 2) {
      inform(activity.uses[1 - user.use], own);
    } else {
      for (const Used& use : activity.uses) {
        if (use.link != id) inform(use, lowest(activity, use.link));
      }
    }
  }
}

// A user of a link is held back by another now.
void MaxMin::inform(const Used& use, const Level& held) {
  Link& link = links_[use.link];
  User& user = link.users[use.place];
  if (link.scarce && user.held != held && std::min(user.held, held) < Level{link.next_level, use.link}) {
    mark_stale(use.link);
  }
  user.held = held;
}

void MaxMin::queue_stale() {
  for (const std::uint32_t id : stale_) {
    Link& link = links_[id];
    link.stale = false;
    link.next_level = level_of(id);
    const double from = std::min(link.next_level, link.level);
    if (link.next_level == link.level || from >= link.queued) continue;
    link.queued = from;
    queue_.push_back({from, id});
    std::push_heap(queue_.begin(), queue_.end(), kLater);
  }
  stale_.clear();
}

MaxMin::Level MaxMin::pop_queue() {
  std::pop_heap(queue_.begin(), queue_.end(), kLater);
  const Level next = queue_.back();
  queue_.pop_back();
  return next;
}

std::span<const std::uint32_t> MaxMin::settle() {
  queue_stale();
  while (!queue_.empty()) {
    const Level next = pop_queue();
    Link& link = links_[next.link];
    if (link.queued != next.speed) continue;
    link.queued = kNotQueued;
    if (link.next_level == link.level) continue;
    if (std::min(link.next_level, link.level) > next.speed) {
      mark_stale(next.link);
    } else {
      change_level(next.link, link.next_level);
    }
    queue_stale();
  }
  for (const std::uint32_t slot : touched_) activities_[slot].touched = false;
  given_out_.swap(touched_);
  touched_.clear();
  return given_out_;
}

}  // namespace mirfak
