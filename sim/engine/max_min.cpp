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
// out of date wait in a queue by that speed. When the first one gets its new level, those links are looked at again
// that share an activity with it which either level, the old or the new, holds back below theirs. Everything else is as
// it was, and is never touched: of 1,024 flows that share a network a start and an end change 30.
//
// Why it ends, and with the same bits as from an empty network: level_of() is a function of a link's list and of the
// levels of other links that are below its own, its sums are exact and so have no order, and it never falls below
// capacity over all demands. Among these the lowest links, once looked at, can never change again; then, with their
// activities held back, the second lowest; and so on. So there is one solution, whatever is rounded.
//
// Example: link A of 10 with x (demand 10) and y (10), link B of 12 with y (6) and z (9). A saturates at 10/20 = 0.5, B
// at 12/15 = 0.8 with y rising, but y is held back by A: (12 - 6 x 0.5)/9 = 1, it does not saturate. x = y = 0.5, z
// = 1. Now x ends. A saturates at 10/10 = 1, not at all; from 0.5 on y is held back no longer, so B is looked at again:
// 0.8.

namespace mirfak {

namespace {

constexpr int kBits = 52;  // of the largest demand or capacity

constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.from != b.from ? a.from > b.from : a.link > b.link;
};

}  // namespace

MaxMin::MaxMin(const std::vector<double>& capacities, double largest_demand, std::size_t slots)
    : links_(capacities.size()), activities_(slots) {
  double largest = largest_demand;
  for (const double capacity : capacities) largest = std::max(largest, capacity);
  if (largest > 0) unit_ = std::ldexp(1.0, kBits - 1 - std::ilogb(largest));
  for (std::size_t link = 0; link < links_.size(); ++link) links_[link].capacity = exact(capacities[link]);
}

MaxMin::Demand MaxMin::exact(double bytes_per_s) const { return std::llrint(bytes_per_s * unit_); }

double MaxMin::speed(std::uint32_t slot) const {
  return static_cast<double>(activities_[slot].speed) / static_cast<double>(kFullSpeed);
}

double MaxMin::level(LinkId link) const {
  return static_cast<double>(links_[link].level) / static_cast<double>(kFullSpeed);
}

void MaxMin::change_load(Link& link, Demand by) {
  constexpr double enough = 1 - 1e-10;
  link.load += by;
  link.scarce = static_cast<double>(link.capacity) < enough * static_cast<double>(link.load);
}

void MaxMin::add(std::uint32_t slot, std::span<const LinkUse> uses, double slower) {
  Activity& activity = activities_[slot];
  for (const LinkUse& use : uses) {
    Link& link = links_[use.link];
    const auto place = static_cast<std::uint32_t>(link.users.size());
    link.users.push_back(
        {kFullSpeed, exact(use.bytes_per_s / slower), slot, static_cast<std::uint32_t>(activity.uses.size())});
    activity.uses.push_back({use.link, place});
    change_load(link, link.users.back().demand);
    if (link.scarce) mark_stale(use.link);
  }
  const Lowest lowest = lowest_of(activity);
  for (const Placed& use : activity.uses) {
    Link& link = links_[use.link];
    link.users[use.place].held = lowest.but(link.level);
  }
  activity.speed = lowest.first;
  touch(slot);
}

void MaxMin::remove(std::uint32_t slot) {
  Activity& activity = activities_[slot];
  for (const Placed& use : activity.uses) {
    Link& link = links_[use.link];
    if (link.scarce) mark_stale(use.link);
    change_load(link, -link.users[use.place].demand);
    const User& last = link.users[use.place] = link.users.back();
    activities_[last.slot].uses[last.use].place = use.place;
    link.users.pop_back();
  }
  activity.uses.clear();
  activity.speed = kFullSpeed;
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

MaxMin::Lowest MaxMin::lowest_of(const Activity& activity) const {
  Lowest lowest;
  for (const Placed& use : activity.uses) {
    const Speed level = links_[use.link].level;
    if (level < lowest.first) {
      lowest.second = lowest.first;
      lowest.first = level;
    } else if (level < lowest.second) {
      lowest.second = level;
    }
  }
  return lowest;
}

// With nobody held back the level is lowest. Those that are leave more to the others, so it rises, until the next ones
// would be held back above it.
MaxMin::Speed MaxMin::level_of(const Link& link) {
  if (!link.scarce) return kFullSpeed;
  Flow free = static_cast<Flow>(link.capacity) * kFullSpeed;
  Demand rising = link.load;
  Speed known = 0;
  auto level = static_cast<Speed>(free / rising);
  while (true) {
    Flow held_flow = 0;
    Demand held = 0;
    for (const User& user : link.users) {
      const auto above =
          static_cast<std::uint64_t>(user.held - known);  // wraps below, so that one comparison is enough
      const Demand demand = user.demand & -static_cast<Demand>(above < static_cast<std::uint64_t>(level - known));
      held += demand;
      held_flow += static_cast<Flow>(user.held) * demand;
    }
    if (held == 0) return level;
    if (held == rising) return kFullSpeed;
    free -= held_flow;
    rising -= held;
    known = level;
    level = std::max(level, static_cast<Speed>(std::min<Flow>(free / rising, kFullSpeed)));
    if (level == kFullSpeed) return level;
  }
}

// Tells the activities on the link, and through them the links that this may concern.
void MaxMin::change_level(std::uint32_t id) {
  Link& link = links_[id];
  link.level = link.next_level;
  for (const User& user : link.users) {
    Activity& activity = activities_[user.slot];
    const Speed speed = std::min(link.level, user.held);
    if (speed != activity.speed) touch(user.slot);
    activity.speed = speed;
    if (activity.uses.size() == 2) {
      inform(activity.uses[1 - user.use], link.level);
    } else {
      const Lowest lowest = lowest_of(activity);
      for (const Placed& use : activity.uses) {
        if (use.link != id) inform(use, lowest.but(links_[use.link].level));
      }
    }
  }
}

// A user of a link is held back otherwise now.
void MaxMin::inform(const Placed& use, Speed held) {
  Link& link = links_[use.link];
  User& user = link.users[use.place];
  if (link.scarce && user.held != held && std::min(user.held, held) < link.next_level) mark_stale(use.link);
  user.held = held;
}

void MaxMin::queue_stale() {
  for (const std::uint32_t id : stale_) {
    Link& link = links_[id];
    link.stale = false;
    link.next_level = level_of(link);
    const Speed from = std::min(link.next_level, link.level);
    if (link.next_level == link.level || from >= link.queued) continue;
    link.queued = from;
    queue_.push_back({from, id});
    std::push_heap(queue_.begin(), queue_.end(), kLater);
  }
  stale_.clear();
}

MaxMin::Waiting MaxMin::pop_queue() {
  std::pop_heap(queue_.begin(), queue_.end(), kLater);
  const Waiting next = queue_.back();
  queue_.pop_back();
  return next;
}

std::span<const std::uint32_t> MaxMin::settle() {
  queue_stale();
  while (!queue_.empty()) {
    const Waiting next = pop_queue();
    Link& link = links_[next.link];
    if (link.queued != next.from) continue;
    link.queued = kNotQueued;
    if (link.next_level == link.level) continue;
    if (std::min(link.next_level, link.level) > next.from) {
      mark_stale(next.link);
    } else {
      change_level(next.link);
    }
    queue_stale();
  }
  for (const std::uint32_t slot : touched_) activities_[slot].touched = false;
  given_out_.swap(touched_);
  touched_.clear();
  return given_out_;
}

}  // namespace mirfak
