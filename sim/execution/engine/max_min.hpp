#pragma once

#include "engine/choose.hpp"
#include "engine/link_queue.hpp"
#include "program/program.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace mirfak {

// Activities that share links, and their max-min fair speeds, kept up to date as activities come and go. These speeds
// are the only assignment with 0 <= speed <= 1 and, for every link, sum of speed x demand <= capacity, in which no
// speed can be raised without lowering one that is not larger (Bertsekas and Gallager, Data Networks, 1992, section
// 6.5.2).
//
// The cost of a change depends on the number of speeds that it changes, not on the number of connected activities.
//
// The speeds are a pure function of the set of activities, to the last bit; earlier changes and slots do not matter.
// Speeds are whole numbers of units of 2^-54, demands are whole numbers of units of about 2^-52 of the largest demand
// or capacity, and their sums are exact. A link whose demands exceed its capacity by less than 1e-10 of it holds no
// activity back, so that shares that add up to the whole capacity fit however they were rounded.
class MaxMin {
 public:
  // `capacities`: bytes/s of each link, >= 0. Activities have slots 0 to slots - 1, and demand no more than
  // `largest_demand` of any link. Up to 2^20 activities may use a link.
  MaxMin(const std::vector<double>& capacities, double largest_demand, std::size_t slots);

  // Adds an activity to an empty slot, or removes the activity of a slot; any number of these calls, then settle().
  // `uses` names each link at most once, with demands above 0, which are divided by `slower`.
  void add(std::uint32_t slot, std::span<const LinkUse> uses, double slower = 1);
  void remove(std::uint32_t slot);

  // Brings the speeds up to date. Returns the slots whose speed may have changed since the last call, including added
  // slots, some more than once. The span is valid until the next call of any function but speed() and level().
  std::span<const std::uint32_t> settle();

  // Prefetches the memory of an activity that will be removed; then, a few removals later, that of its links, if there
  // are two.
  void prefetch_activity(std::uint32_t slot) const { __builtin_prefetch(&activities_[slot], 1); }
  void prefetch_links_of(std::uint32_t slot) const {
    const Activity& activity = activities_[slot];
    if (activity.uses.size() != 2) return;
    for (const Placed& use : activity.uses) prefetch_link(use.link);
  }

  // Returns the speed of the activity in a slot; valid after settle().
  double speed(std::uint32_t slot) const {
    return static_cast<double>(activities_[slot].speed) / static_cast<double>(kFullSpeed);
  }
  // Returns the speed at which a link holds back those of its activities that no other link holds back below it; 1:
  // none.
  double level(LinkId link) const;

 private:
  using Speed = std::int64_t;           // in units of 2^-54
  using Demand = std::int64_t;          // in units of 1 / unit_ bytes/s
  __extension__ using Flow = __int128;  // sums of speed x demand

  static constexpr Speed kFullSpeed = Speed{1} << 54;

  // A link in the list of an activity; `place` is the index of the activity in the link's `users`.
  struct Placed {
    std::uint32_t link = 0;
    std::uint32_t place = 0;
  };
  // The lowest level of an activity's links, and the lowest level of its other links.
  struct Lowest {
    Speed first = kFullSpeed;
    Speed second = kFullSpeed;
    std::uint32_t at_first = 0;  // number of links with the lowest level

    // Returns the lowest level of all links but one of this level.
    Speed but(Speed level) const { return level == first ? second : first; }
    // Follows the level of one link. Returns false if only a look at all links tells the lowest levels.
    bool follow(Speed before, Speed now);
  };
  struct Activity {
    Speed speed = kFullSpeed;
    boost::container::small_vector<Placed, 2> uses;  // transfers, of which there are most, are on two links
  };
  struct User {
    Speed held = kFullSpeed;  // speed that the activity's other links allow
    Demand demand = 0;
    std::uint32_t slot = 0;
    std::uint32_t use = 0;  // index of this link in the activity's list
    Placed other;           // the activity's other link, if it has two
  };
  // A Flow as two numbers. Compilers would write a Flow in halves and then read it at once, and that read has to wait.
  struct Halves {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    void add(Flow flow) {
      const auto more = static_cast<std::uint64_t>(flow);
      low += more;
      high += static_cast<std::uint64_t>(flow >> 64) + (low < more ? 1 : 0);
    }
    Flow value() const { return static_cast<Flow>(high) << 64 | static_cast<Flow>(low); }
    Flow value_if(bool wanted) const {  // 0 unless wanted
      const std::uint64_t mask = -static_cast<std::uint64_t>(wanted);
      return Halves{low & mask, high & mask}.value();
    }
  };
  // Members that every start and end of an activity touches come first, in as few cache lines as possible.
  struct Link {
    Speed level = kFullSpeed;  // speed of its activities at which it saturates; kFullSpeed: it does not
    Demand capacity = 0;
    Flow load = 0;             // sum of the demands
    bool scarce = false;       // the demands exceed the capacity
    std::uint32_t on_two = 0;  // users that are on exactly two links
    boost::container::small_vector<User, 2> users;
    Speed next_level = kFullSpeed;  // the level after the next change, if nothing happens before
    Speed queued = kNotQueued;      // speed at which it waits in the queue
    Speed concerned_below = 0;      // stale if a user's `held` changes from or to below this; kStale: it is stale
    // Sums of a scarce link, so that a change of one user's `held` does not need a look at all users:
    Halves left;               // capacity that users held below `level` leave
    std::uint64_t rising = 0;  // sum of the demands of the other users, modulo 2^64
    Speed below = 0;           // upper bound of `held` of users held below `level`
    Speed beyond = 0;          // lower bound of `held` of the other users
  };
  static constexpr std::size_t kAhead = 8;  // links of an activity that are prefetched before their turn
  static constexpr Speed kStale = -1;
  static constexpr Speed kNotQueued = kFullSpeed + 1;
  static constexpr Flow kManyDemands = Flow{1} << 63;  // from here on sums do not fit in a Demand
  static constexpr std::uint32_t kNoLink = std::numeric_limits<std::uint32_t>::max();

  void prefetch_link(LinkId link) const {
    __builtin_prefetch(&links_[link].level, 1);
    __builtin_prefetch(&links_[link].users, 1);
    __builtin_prefetch(&links_[link].next_level, 1);
  }
  Demand exact(double bytes_per_s) const;
  static void change_load(Link& link, Demand by);
  // Updates the sums of a link for a user whose `held` changes from `from` to `to`.
  static void recount(Link& link, Demand demand, Speed from, Speed to) {
    const bool was_held = from < link.level;
    const bool is_held = to < link.level;
    const Speed freed = choose(was_held, from, 0) - choose(is_held, to, 0);
    link.left.add(static_cast<Flow>(freed) * demand);
    link.rising += static_cast<std::uint64_t>(choose(was_held, demand, 0) - choose(is_held, demand, 0));
    link.below = std::max(link.below, choose(is_held, to, -1));
    link.beyond = std::min(link.beyond, choose(is_held, kFullSpeed, to));
  }
  static void count_all(Link& link);
  static Speed level_of(const Link& link);
  static Speed level_from_nothing(const Link& link);
  Lowest lowest_of(const Activity& activity) const;
  void move(const User& user, Link& link, std::uint32_t place);
  void change_level(std::uint32_t id);
  std::span<const std::uint32_t> hold_elsewhere(const Link& link, Speed lower);
  void tell_concerned(const Link& link, Speed before, std::span<const std::uint32_t> places);
  std::uint32_t* touch(std::size_t count);
  void mark_stale(std::uint32_t id);
  void tell_others(const User& user, std::uint32_t id, Speed before);
  void inform(const Placed& use, Speed held);
  void queue_stale();

  double unit_ = 1;
  std::vector<Link> links_;
  std::vector<Activity> activities_;    // by slot
  std::vector<Lowest> lowest_;          // by slot, of activities that are not on two links
  std::vector<std::uint32_t> touched_;  // slots; the first touched_count_ are valid
  std::size_t touched_count_ = 0;
  std::vector<std::uint32_t> stale_;  // stale links; room for all links and one more
  std::size_t stale_count_ = 0;
  std::vector<std::uint32_t> concerned_;  // buffer of change_level()
  LinkQueue queue_;                       // links to look at, by the lowest speed at which their state changes
};

}  // namespace mirfak
