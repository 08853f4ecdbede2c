#pragma once

#include "engine/timeline.hpp"
#include "program/program.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// Use of a link from `time` on, until the next point. Points ascend; the first is at the beginning of the iteration,
// the last at its end.
struct LinkUsePoint {
  Picoseconds time = 0;
  double bytes_per_s = 0;
  double use = 0;  // share of the bandwidth
};

// Owners of a program's traffic, if it has several jobs.
struct LinkOwners {
  std::vector<std::string> names;      // empty: one owner has all traffic
  std::vector<std::uint32_t> of_rank;  // by index into Program::ranks; index into `names`

  std::size_t of(const Program& program, TaskId task) const {
    return names.empty() ? 0 : of_rank[program.rank_of(task)];
  }
};

// Stretch of a timeline, and owners of traffic, for which the use of links is computed.
struct LinkScope {
  Picoseconds from = 0;
  std::optional<Picoseconds> to = {};  // absent: the end
  LinkOwners owners = {};
};

// An activity that a link held back.
struct HeldActivity {
  TaskId task = 0;  // one of its tasks, on the sending side
  double full_speed_s = 0;
  double slowed_s = 0;  // time that the link adds
  // Part of slowed_s that each owner's traffic causes. If only traffic of the activity's own owner were there, asking A
  // bytes/s of a link of B bytes/s, the activity would run at B/A; the additional slowdown is divided among the other
  // owners in proportion to what they ask. Empty: one owner has all traffic.
  std::vector<double> by = {};
};

// Communication of one name and one owner that links held back.
struct SlowedCommunication {
  std::size_t owner = 0;    // index into LinkOwners::names
  std::string name;         // name on the sending side: "reduce gradients"
  double times = 0;         // number on the cluster: a group counts for all groups that it stands for
  double full_speed_s = 0;  // total time of these if nothing held them back
  double slowed_s = 0;      // total time that the link adds
  std::vector<double> by;   // HeldActivity::by, in total
};

// Use of one shared link (one of those that are alike) in an iteration, or in another stretch of time.
struct LinkUsage {
  LinkId link = 0;
  double bytes = 0;
  std::vector<double> bytes_of;  // by owner; empty: one owner has all
  double mean_use = 0;           // share of the bandwidth, over the iteration
  double peak_use = 0;           // at most 1
  double binds_s = 0;            // time during which it holds an activity back
  // Largest bandwidth that all activities would take at full speed while the link is short, over its bandwidth; 0:
  // never short.
  double most_asked = 0;
  std::vector<std::string> asking;                           // names of these activities: "reduce gradients (second)"
  std::vector<std::pair<Picoseconds, Picoseconds>> binding;  // times when it binds (from, to), ascending
  std::vector<HeldActivity> held;                            // each once, ascending
  std::vector<LinkUsePoint> points;
};

// Returns the communication that links held back, by the time added, largest first. An activity that occurs several
// times in `held`, for several links, counts once.
std::vector<SlowedCommunication> slowed_by_name(const Program& program, std::vector<HeldActivity> held,
                                                const LinkOwners& owners = {});
double added_by(const std::vector<SlowedCommunication>& slowed);  // total seconds

// Returns the use of each link of a program. An activity that runs at a speed s for a time t is slowed by (1 - s) t;
// links that are equally short share this time evenly. So the time that all links add is the time that tasks on links
// take longer than at full speed. For a stretch of time, an activity that runs at its ends counts with the part inside.
std::vector<LinkUsage> link_usage(const Program& program, const Timeline& timeline, const LinkScope& scope = {});

// Returns the links that hold an activity back, by the time that they add, largest first.
std::vector<LinkId> binding_links(const Program& program, std::span<const LinkUsage> links);

// Returns the number of groups of the cluster's ranks that a group of a program stands for; for kNoGroup the number of
// ranks that `rank` stands for.
double groups_meant(const Program& program, GroupId group, std::uint32_t rank);

}  // namespace mirfak
