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
// The speeds are a pure function of the set of activities and their slots, to the last bit, whatever happened before.
class MaxMin {
 public:
  struct Use {
    std::uint32_t link = 0;
    double demand = 0;  // bytes/s at speed 1; > 0
  };

  // `capacities`: bytes/s of each link, >= 0. Activities have slots 0 to slots - 1.
  MaxMin(std::vector<double> capacities, std::size_t slots);

  // Any number of these, then settle(). An empty slot gets an activity, whose `uses` name each link at most once and
  // must stay where they are until it is removed; or loses it.
  void add(std::uint32_t slot, std::span<const Use> uses);
  void remove(std::uint32_t slot);

  // Brings the speeds up to date. Returns the slots, each once, whose speed may have changed since the last call, those
  // added included; valid until the next call.
  std::span<const std::uint32_t> settle();

  double speed(std::uint32_t slot) const { return activities_[slot].first.speed; }  // after settle()
  // The link that holds the activity back; kNoLink: none does.
  static constexpr std::uint32_t kNoLink = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t bottleneck(std::uint32_t slot) const { return activities_[slot].first.link; }

 private:
  // At which speed of its activities a link saturates. Of equal speeds the lower link comes first.
  struct Level {
    double speed = 1;
    std::uint32_t link = kNoLink;

    friend bool operator==(const Level&, const Level&) = default;
    friend bool operator<(const Level& a, const Level& b) {
      return a.speed != b.speed ? a.speed < b.speed : a.link < b.link;
    }
  };
  struct Activity {
    Level first;   // the lowest of its links'
    Level second;  // the lowest of the others'
    std::span<const Use> uses;
    bool touched = false;
  };
  struct User {
    std::uint32_t slot = 0;
    double demand = 0;
  };
  struct Link {
    double capacity = 0;
    double load = 0;   // about the sum of the demands
    double level = 1;  // at which it saturates; 1: it does not
    double queued = 2;
    bool stale = false;
    std::vector<User> users;  // by slot
  };
  // A user of a link that another link holds back.
  struct Held {
    Level by;
    double demand = 0;
  };

  bool may_saturate(const Link& link) const { return link.load > link.capacity * (1 - 1e-9); }
  Level without(const Activity& activity, std::uint32_t link) const {
    return activity.first.link == link ? activity.second : activity.first;
  }
  double level_of(std::uint32_t link);
  double filled(std::uint32_t link, double level);
  double demand_above(const Link& link, std::uint32_t id, const Level& by) const;
  void find_levels(Activity& activity) const;
  void change_level(std::uint32_t link, double level);
  void touch(std::uint32_t slot);
  void mark_stale(std::uint32_t link);
  void queue_stale();

  std::vector<Link> links_;
  std::vector<Activity> activities_;  // by slot
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> given_out_;
  std::vector<std::uint32_t> stale_;
  std::vector<Level> queue_;  // a heap: links to look at, by the speed from which on their state changes
  std::vector<Held> held_;
};

}  // namespace mirfak
