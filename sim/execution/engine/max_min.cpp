#include "engine/max_min.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

// Progressive filling raises the speeds of all activities together from 0; when a link saturates, its activities stay
// at that speed and the others rise on. So the solution is a level for each link, the speed at which it saturates, and
//
//   speed of an activity = the lowest level of its links (1 if none saturates)
//   level of a link      = its capacity less the use by those of its activities that other links hold back below
//                          that level, over the demands of its other activities
//
// Speeds and levels define each other. A start or an end changes the lists of some links. Filling then takes another
// course only from the lower of a link's old and new levels upwards, so links whose level is out of date wait in a
// queue by that speed. When the first link in the queue gets its new level, other links that share an activity with it
// are looked at again if the old or the new level holds this activity back below their own level. All other links stay
// as they were and are never touched: of 1,024 flows that share a network, a start and an end change 30.
//
// A link keeps two sums over its users: the capacity that users held back below its level by other links leave, and the
// demands of the other users. While no user changes from one sum to the other, the new level is one division. If a user
// did change, or if rounding might make a level between two users that the same link holds back do as well,
// level_from_nothing() looks at all users.
//
// The processor loses its time on mispredicted branches, not on the sums, and the branches here are often random. Hence
// choose() where an `if` would do.
//
// The algorithm ends, and with the same bits as from an empty network, because level_of() is a function of a link's
// list and of the levels of other links that are below its own, its sums are exact and so have no order, and it never
// falls below capacity over all demands. Therefore the lowest links, once looked at, can never change again; then, with
// their activities held back, the second lowest; and so on. So there is one solution, whatever is rounded.
//
// Example: link A of capacity 10 with x (demand 10) and y (10), link B of capacity 12 with y (6) and z (9). A saturates
// at 10/20 = 0.5. B would saturate at 12/15 = 0.8 with y rising, but A holds y back: (12 - 6 x 0.5)/9 = 1, so B does
// not saturate. x = y = 0.5, z = 1. Now x ends. A would saturate at 10/10 = 1, that is, not at all; from 0.5 on A no
// longer holds y back, so B is looked at again: 0.8.

namespace mirfak {

namespace {

constexpr int kBits = 52;  // bits of the largest demand or capacity

// Divides where the quotient fits in 64 bits, in one instruction where there is one: the compiler's function for 128
// bits is much slower.
__extension__ std::int64_t quotient(__int128 dividend, std::int64_t divisor) {
#ifdef __x86_64__
  std::uint64_t quotient = 0;
  std::uint64_t remainder = 0;
  __asm__("divq %[divisor]"
          : "=a"(quotient), "=d"(remainder)
          : "a"(static_cast<std::uint64_t>(dividend)),
            "d"(static_cast<std::uint64_t>(dividend >> 64)), [divisor] "r"(divisor)
          : "cc");
  return static_cast<std::int64_t>(quotient);
#else
  return static_cast<std::int64_t>(dividend / divisor);
#endif
}

}  // namespace

MaxMin::MaxMin(const std::vector<double>& capacities, double largest_demand, std::size_t slots)
    : links_(capacities.size()), activities_(slots), lowest_(slots), stale_(capacities.size() + 1) {
  double largest = largest_demand;
  for (const double capacity : capacities) largest = std::max(largest, capacity);
  if (largest > 0) unit_ = std::ldexp(1.0, kBits - 1 - std::ilogb(largest));
  for (std::size_t link = 0; link < links_.size(); ++link) links_[link].capacity = exact(capacities[link]);
}

MaxMin::Demand MaxMin::exact(double bytes_per_s) const { return std::llrint(bytes_per_s * unit_); }

double MaxMin::level(LinkId link) const {
  return static_cast<double>(links_[link].level) / static_cast<double>(kFullSpeed);
}

void MaxMin::change_load(Link& link, Demand by) {
  constexpr double enough = 1 - 1e-10;
  link.load += by;
  const double load =
      link.load < kManyDemands ? static_cast<double>(static_cast<Demand>(link.load)) : static_cast<double>(link.load);
  link.scarce = static_cast<double>(link.capacity) < enough * load;
}

void MaxMin::count_all(Link& link) {
  link.left = {};
  link.left.add(static_cast<Flow>(link.capacity) * kFullSpeed);
  link.rising = 0;
  link.below = -1;
  link.beyond = kFullSpeed;
  for (const User& user : link.users) {
    link.rising += static_cast<std::uint64_t>(user.demand);
    recount(link, user.demand, kFullSpeed, user.held);
  }
}

void MaxMin::add(std::uint32_t slot, std::span<const LinkUse> uses, double slower) {
  Activity& activity = activities_[slot];
  activity.uses.reserve(uses.size());
  for (std::size_t k = 0; k < uses.size(); ++k) {
    if (k + kAhead < uses.size()) prefetch_link(uses[k + kAhead].link);
    activity.uses.push_back({uses[k].link, static_cast<std::uint32_t>(links_[uses[k].link].users.size())});
  }
  const Lowest lowest = lowest_of(activity);
  for (std::uint32_t k = 0; k < uses.size(); ++k) {
    Link& link = links_[uses[k].link];
    const Placed other = uses.size() == 2 ? activity.uses[1 - k] : Placed{kNoLink, 0};
    const User user{lowest.but(link.level), exact(uses[k].bytes_per_s / slower), slot, k, other};
    link.users.push_back(user);
    link.on_two += uses.size() == 2 ? 1 : 0;
    const bool was_scarce = link.scarce;
    change_load(link, user.demand);
    if (!link.scarce) continue;
    mark_stale(uses[k].link);
    if (was_scarce) {
      link.rising += static_cast<std::uint64_t>(user.demand);
      recount(link, user.demand, kFullSpeed, user.held);
    } else {
      count_all(link);
    }
  }
  activity.speed = lowest.first;
  if (uses.size() != 2) lowest_[slot] = lowest;
  *touch(1) = slot;
}

// Moves a user to another place of its link.
void MaxMin::move(const User& user, Link& link, std::uint32_t place) {
  link.users[place] = user;
  activities_[user.slot].uses[user.use].place = place;
  if (user.other.link != kNoLink) links_[user.other.link].users[user.other.place].other.place = place;
}

void MaxMin::remove(std::uint32_t slot) {
  Activity& activity = activities_[slot];
  const std::span<const Placed> uses(activity.uses.data(), activity.uses.size());
  for (std::size_t k = 0; k < uses.size(); ++k) {
    if (k + kAhead < uses.size()) prefetch_link(uses[k + kAhead].link);
    const Placed use = uses[k];
    Link& link = links_[use.link];
    const User leaving = link.users[use.place];
    if (link.scarce) {
      mark_stale(use.link);
      recount(link, leaving.demand, leaving.held, kFullSpeed);
      link.rising -= static_cast<std::uint64_t>(leaving.demand);
    }
    link.on_two -= leaving.other.link != kNoLink ? 1 : 0;
    change_load(link, -leaving.demand);
    if (use.place + 1 < link.users.size()) move(link.users.back(), link, use.place);
    link.users.pop_back();
  }
  activity.uses.clear();
  activity.speed = kFullSpeed;
}

// Returns room for `count` more touched slots.
std::uint32_t* MaxMin::touch(std::size_t count) {
  const std::size_t before = std::exchange(touched_count_, touched_count_ + count);
  if (touched_count_ > touched_.size()) touched_.resize(2 * touched_count_);
  return touched_.data() + before;
}

void MaxMin::mark_stale(std::uint32_t id) {
  if (links_[id].concerned_below == kStale) return;
  links_[id].concerned_below = kStale;
  stale_[stale_count_++] = id;
}

MaxMin::Lowest MaxMin::lowest_of(const Activity& activity) const {
  Lowest lowest;
  for (const Placed& use : activity.uses) {
    const Speed level = links_[use.link].level;
    if (level < lowest.first) {
      lowest = {level, lowest.first, 1};
    } else {
      lowest.second = std::min(lowest.second, level);
      lowest.at_first += level == lowest.first ? 1 : 0;
    }
  }
  return lowest;
}

bool MaxMin::Lowest::follow(Speed before, Speed now) {
  const bool was_only_first = before == first && at_first == 1;
  if (was_only_first && now < second) {
    first = now;
    return true;
  }
  if (now > before) {
    if (before > second) return true;
    const bool enough_stay = before == first && at_first > 2;
    at_first -= enough_stay ? 1 : 0;
    return enough_stay;
  }
  if (was_only_first) return false;
  if (now < first) {
    *this = {now, first, 1};
  } else {
    second = std::min(second, now);
    at_first += now == first ? 1 : 0;
  }
  return true;
}

// Computes the level from the sums, if the sums still divide the users into those below the new level and the others,
// and if no lower level is as consistent. Saturation of the link is random, so that it is decided without a branch.
MaxMin::Speed MaxMin::level_of(const Link& link) {
  if (!link.scarce) return kFullSpeed;
  if (link.load < kManyDemands) {
    const Flow left = link.left.value();
    const auto rising = static_cast<Demand>(link.rising);
    const bool is_lowest = left - static_cast<Flow>(link.below) * rising >= link.load;
    const bool all_fit = left >= static_cast<Flow>(rising) * kFullSpeed;
    const bool divides = is_lowest & !all_fit;
    const Speed saturates = quotient(link.left.value_if(divides), choose(divides, rising, 1));
    const Speed level = choose(all_fit, kFullSpeed, saturates);
    if (is_lowest & ((level <= link.beyond) | (rising == 0))) return level;
  }
  return level_from_nothing(link);
}

// The level is lowest if no user is held back by other links. Users that are held back leave more to the others, so the
// level rises, until the next users would be held back above it.
MaxMin::Speed MaxMin::level_from_nothing(const Link& link) {
  Flow free = static_cast<Flow>(link.capacity) * kFullSpeed;
  Flow rising = link.load;
  Speed known = 0;
  auto level = static_cast<Speed>(free / rising);
  while (true) {
    Flow held_flow = 0;
    Flow held = 0;
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

// Gives a link its next level, and informs its activities and, through them, the links that the change may concern.
void MaxMin::change_level(std::uint32_t id) {
  Link& link = links_[id];
  const Speed before = std::exchange(link.level, link.next_level);
  if (link.scarce && (link.below >= link.level || link.beyond < link.level)) count_all(link);
  if (link.on_two < link.users.size()) {
    for (const User& user : link.users) {
      if (user.other.link == kNoLink) tell_others(user, id, before);
    }
  }
  if (link.on_two == 0) return;
  tell_concerned(link, before, hold_elsewhere(link, std::min(before, link.level)));
}

// Informs the other links of users on two links, and returns the places of the users that need more. A user that its
// other link holds back below both the old and the new level goes on as before, and so does that other link: had its
// level been about to change, it would have come first. Most users are of this kind, at random.
std::span<const std::uint32_t> MaxMin::hold_elsewhere(const Link& link, Speed lower) {
  if (concerned_.size() < link.users.size()) concerned_.resize(2 * link.users.size());
  const Speed level = link.level;
  Link* const links = links_.data();
  std::uint32_t* const concerned = concerned_.data();
  std::size_t count = 0;
  std::uint32_t place = 0;
  for (const User& user : link.users) {
    concerned[count] = place++;
    if (user.other.link == kNoLink) continue;
    const bool is_concerned = user.held >= lower;
    count += is_concerned ? 1 : 0;
    Link& other = links[user.other.link];
    other.users[user.other.place].held = level;
    other.beyond = std::min(other.beyond, choose(is_concerned, kFullSpeed, level));
  }
  return {concerned, count};
}

void MaxMin::tell_concerned(const Link& link, Speed before, std::span<const std::uint32_t> places) {
  const Speed level = link.level;
  Link* const links = links_.data();
  const User* const users = link.users.data();
  const Speed lower = std::min(before, level);
  std::uint32_t* touched = touch(places.size());
  std::uint32_t* stale = stale_.data() + stale_count_;
  for (const std::uint32_t place : places) {
    const User& user = users[place];
    activities_[user.slot].speed = std::min(level, user.held);
    *touched++ = user.slot;
    Link& other = links[user.other.link];
    recount(other, other.users[user.other.place].demand, before, level);
    *stale = user.other.link;
    const bool is_stale = lower < other.concerned_below;
    stale += is_stale ? 1 : 0;
    other.concerned_below = choose(is_stale, kStale, other.concerned_below);
  }
  stale_count_ = static_cast<std::size_t>(stale - stale_.data());
}

// Informs the other links of a user of link `id`, whose level has changed. They stay as they are if the lowest levels
// do: when an activity on thousands of links begins, all levels change, and only the first two changes concern others.
void MaxMin::tell_others(const User& user, std::uint32_t id, Speed before) {
  Activity& activity = activities_[user.slot];
  Lowest& lowest = lowest_[user.slot];
  const Lowest was = lowest;
  if (!lowest.follow(before, links_[id].level)) lowest = lowest_of(activity);
  if (lowest.first != was.first) {
    activity.speed = lowest.first;
    *touch(1) = user.slot;
  }
  if (lowest.first == was.first && lowest.second == was.second) return;
  for (const Placed& use : activity.uses) {
    if (use.link != id) inform(use, lowest.but(links_[use.link].level));
  }
}

// Sets the speed that the other links of a user allow.
void MaxMin::inform(const Placed& use, Speed held) {
  Link& link = links_[use.link];
  User& user = link.users[use.place];
  if (user.held == held) return;
  const Speed before = std::exchange(user.held, held);
  if (!link.scarce) return;
  recount(link, user.demand, before, held);
  if (std::min(before, held) < link.concerned_below) mark_stale(use.link);
}

void MaxMin::queue_stale() {
  for (const std::uint32_t id : std::span(stale_.data(), std::exchange(stale_count_, 0))) {
    Link& link = links_[id];
    link.next_level = level_of(link);
    link.concerned_below = link.scarce ? link.next_level : 0;
    const Speed from = std::min(link.next_level, link.level);
    const bool waits = (link.next_level != link.level) & (from < link.queued);
    link.queued = choose(waits, from, link.queued);
    queue_.push({from, id}, waits);
  }
}

std::span<const std::uint32_t> MaxMin::settle() {
  queue_stale();
  while (!queue_.empty()) {
    const LinkQueue::Entry next = queue_.pop();
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
  return std::span(touched_.data(), std::exchange(touched_count_, 0));
}

}  // namespace mirfak
