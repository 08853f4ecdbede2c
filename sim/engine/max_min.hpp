#pragma once

#include "program/program.hpp"

#include <cstddef>
#include <cstdint>
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
// slots: speeds and demands are whole numbers of units of 2^-54 and of about 2^-52 of the largest demand or capacity,
// and their sums exact. A link whose demands exceed its
// capacity by less than 1e-10 of it holds nobody back: shares that add up to a whole do, however they were rounded.
class MaxMin {
 public:
  // `capacities`: bytes/s of each link, >= 0. Activities have slots 0 to slots - 1, and demand no more than
  // `largest_demand` of any link. Up to 2^20 may use a link.
  MaxMin(const std::vector<double>& capacities, double largest_demand, std::size_t slots);

  // Any number of these, then settle(). An empty slot gets an activity, whose `uses` name each link at most once and
  // take more than nothing of it, divided by `slower`; or loses it.
  void add(std::uint32_t slot, std::span<const LinkUse> uses, double slower = 1);
  void remove(std::uint32_t slot);

  // Brings the speeds up to date. Returns the slots, each once, whose speed may have changed since the last call, those
  // added included; valid until the next call.
  std::span<const std::uint32_t> settle();

  double speed(std::uint32_t slot) const;  // after settle()
  // The speed at which a link holds back the activities that no other link holds back below it; 1: nobody.
  double level(LinkId link) const;

 private:
  using Speed = std::int64_t;           // in units of 2^-54
  using Demand = std::int64_t;          // in units of 1 / unit_ bytes/s
  __extension__ using Flow = __int128;  // sums of speed x demand

  static constexpr Speed kFullSpeed = Speed{1} << 54;

  // A link in the list of an activity, which stands at `place` of the link's.
  struct Placed {
    std::uint32_t link = 0;
    std::uint32_t place = 0;
  };
  struct Activity {
    Speed speed = kFullSpeed;
    bool touched = false;
    std::vector<Placed> uses;
  };
  struct User {
    Speed held = kFullSpeed;  // by the activity's other links
    Demand demand = 0;
    std::uint32_t slot = 0;
    std::uint32_t use = 0;  // its place in the activity's list
  };
  // `level`: at which speed of its activities it saturates; kFullSpeed: it does not.
  struct Link {
    std::vector<User> users;
    Demand capacity = 0;
    Demand load = 0;  // sum of the demands
    Speed level = kFullSpeed;
    Speed next_level = kFullSpeed;  // what it will be if nothing happens before
    Speed queued = kNotQueued;      // at which it waits in the queue
    bool stale = false;
    bool scarce = false;  // the demands exceed the capacity
  };
  struct Waiting {
    Speed from = 0;
    std::uint32_t link = 0;
  };
  static constexpr Speed kNotQueued = kFullSpeed + 1;

  Demand exact(double bytes_per_s) const;
  void change_load(Link& link, Demand by);
  static Speed level_of(const Link& link);
  // Of an activity's links, the lowest level, and the lowest of the others.
  struct Lowest {
    Speed first = kFullSpeed;
    Speed second = kFullSpeed;

    // By all links but one of this level.
    Speed but(Speed level) const { return level == first ? second : first; }
  };
  Lowest lowest_of(const Activity& activity) const;
  void change_level(std::uint32_t id);
  void inform(const Placed& use, Speed held);
  void touch(std::uint32_t slot);
  void mark_stale(std::uint32_t link);
  void queue_stale();
  Waiting pop_queue();

  double unit_ = 1;
  std::vector<Link> links_;
  std::vector<Activity> activities_;  // by slot
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> given_out_;
  std::vector<std::uint32_t> stale_;
  std::vector<Waiting> queue_;  // a heap: links to look at, by the speed from which on their state changes
};

}  // namespace mirfak
