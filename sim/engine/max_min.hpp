#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace mirfak {

// Activities that share links, and their max-min fair speeds, kept up to date as they come and go: the one assignment
// with 0 <= speed <= 1 and, for every link, sum of speed x demand <= capacity, in which no speed can be raised without
// lowering one that is not larger (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).
//
// What a change costs depends on how many speeds it changes, not on how many activities are connected.
//
// The speeds are a pure function of the set of activities, to the last bit, whatever happened before and whatever their
// slots. Sums of demands are exact, in units of 2^-52 of the largest demand or capacity. A link whose demands exceed its
// capacity by less than 1e-10 of it holds nobody back: shares that add up to a whole do, however they were rounded.
class MaxMin {
 public:
  struct Use {
    std::uint32_t link = 0;
    double demand = 0;  // bytes/s at speed 1; > 0
  };

  // `capacities`: bytes/s of each link, >= 0. Activities have slots 0 to slots - 1, and demand no more than
  // `largest_demand` of any link. Up to 2^20 may use a link.
  MaxMin(const std::vector<double>& capacities, double largest_demand, std::size_t slots);

  // Any number of these, then settle(). An empty slot gets an activity, whose `uses` name each link at most once; or
  // loses it.
  void add(std::uint32_t slot, std::span<const Use> uses);
  void remove(std::uint32_t slot);

  // Brings the speeds up to date. Returns the slots, each once, whose speed may have changed since the last call, those
  // added included; valid until the next call.
  std::span<const std::uint32_t> settle();

  double speed(std::uint32_t slot) const { return activities_[slot].held.speed; }  // after settle()
  // The link that holds the activity back; kNoLink: none does.
  static constexpr std::uint32_t kNoLink = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t bottleneck(std::uint32_t slot) const { return activities_[slot].held.link; }

 private:
  using Exact = std::int64_t;    // bytes/s in units
  __extension__ using Wide = __int128;  // sums of speed x demand

  // At which speed of its activities a link saturates; 1: it does not. Of equal speeds the lower link comes first.
  struct Level {
    double speed = 1;
    std::uint32_t link = kNoLink;

    friend bool operator==(const Level&, const Level&) = default;
    friend bool operator<(const Level& a, const Level& b) {
      return a.speed != b.speed ? a.speed < b.speed : a.link < b.link;
    }
  };
  // A link in the list of an activity: the activity stands at `place` of the link's.
  struct Used {
    std::uint32_t link = 0;
    std::uint32_t place = 0;
  };
  struct Activity {
    Level held;  // by the lowest of its links
    std::vector<Used> uses;
    bool touched = false;
  };
  struct User {
    Level held;  // by the lowest of its other links
    std::uint32_t slot = 0;
    std::uint32_t use = 0;  // its place in the activity's list
    Exact demand = 0;
  };
  struct Link {
    Exact capacity = 0;
    Exact load = 0;  // sum of the demands
    double level = 1;
    double next_level = 1;  // what it will be if nothing happens before
    double queued = 2;      // at which speed it waits in the queue; 2: it does not
    bool stale = false;
    bool scarce = false;  // the demands exceed the capacity
    std::vector<User> users;
  };
  // Of the users that other links hold back below a level.
  struct HeldBack {
    std::size_t users = 0;
    Wide used = 0;
    Exact demand = 0;
  };

  Exact exact(double bytes_per_s) const;
  double quotient(const Link& link, const HeldBack& held) const;
  static HeldBack held_below(const Link& link, const Level& level);
  double level_of(std::uint32_t link) const;
  void change_load(Link& link, Exact by);

  Level lowest(const Activity& activity, std::uint32_t except) const;
  void change_level(std::uint32_t link, double level);
  void inform(const Used& use, const Level& held);
  void touch(std::uint32_t slot);
  void mark_stale(std::uint32_t link);
  void queue_stale();
  Level pop_queue();

  double unit_ = 1;  // units in a byte/s
  std::vector<Link> links_;
  std::vector<Activity> activities_;  // by slot
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> given_out_;
  std::vector<std::uint32_t> stale_;
  std::vector<Level> queue_;  // a heap: links to look at, by the speed from which on their state changes
};

}  // namespace mirfak
