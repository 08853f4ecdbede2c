#pragma once

#include "engine/timeline.hpp"
#include "program/program.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// From `time` on, until the next point. Points ascend; the first is at the beginning of the iteration, the last at its
// end.
struct LinkUsePoint {
  Picoseconds time = 0;
  double bytes_per_s = 0;
  double use = 0;  // share of the bandwidth
};

// Whose a program's traffic is: of several jobs.
struct LinkOwners {
  std::vector<std::string> names;      // empty: all is of one
  std::vector<std::uint32_t> of_rank;  // by index into Program::ranks; index into `names`

  std::size_t of(const Program& program, TaskId task) const {
    return names.empty() ? 0 : of_rank[program.rank_of(task)];
  }
};

// Of which stretch of a timeline and whose traffic links are asked about.
struct LinkScope {
  Picoseconds from = 0;
  std::optional<Picoseconds> to = {};  // absent: the end
  LinkOwners owners = {};
};

// An activity that a link held back.
struct HeldActivity {
  TaskId task = 0;  // one of its tasks, of the sending side
  double full_speed_s = 0;
  double slowed_s = 0;  // what the link adds
  // By owner: of that, what its traffic makes. With the traffic of the activity's own owner only, of which A bytes/s
  // are asked of a link of B, it would run at B/A; what it is slower than that is the others', in proportion to what
  // they ask. Empty: all is of one.
  std::vector<double> by = {};
};

// Communication of one name, and one owner, that links held back.
struct SlowedCommunication {
  std::size_t owner = 0;    // index into LinkOwners::names
  std::string name;         // of the sending side: "reduce gradients"
  double times = 0;         // on the whole cluster: a group of a folded program counts for all that it stands for
  double full_speed_s = 0;  // what these take in all if nothing holds them back
  double slowed_s = 0;      // what the link adds to that, in all
  std::vector<double> by;   // HeldActivity, in all
};

// What becomes of one shared link (one of those that are alike) in an iteration, or another stretch of time.
struct LinkUsage {
  LinkId link = 0;
  double bytes = 0;
  std::vector<double> bytes_of;  // by owner; empty: all are of one
  double mean_use = 0;           // share of the bandwidth, over the iteration
  double peak_use = 0;           // at most 1
  double binds_s = 0;            // for so long it holds something back
  // While it is short, the most that all that runs would take at full speed, times its bandwidth; 0: never short.
  double most_asked = 0;
  std::vector<std::string> asking;                           // ... and what that is: "reduce gradients (second)"
  std::vector<std::pair<Picoseconds, Picoseconds>> binding;  // from when to when, ascending
  std::vector<HeldActivity> held;                            // each once, ascending
  std::vector<LinkUsePoint> points;
};

// By what is added, the most first. An activity may stand in `held` several times, for several links: it is one.
std::vector<SlowedCommunication> slowed_by_name(const Program& program, std::vector<HeldActivity> held,
                                                const LinkOwners& owners = {});
double added_by(const std::vector<SlowedCommunication>& slowed);  // seconds, in all

// Of each link of a program. What runs at a speed s for a time t is slowed by (1 - s) t; links that are equally short
// share that evenly. So what all links add is what tasks on links take longer than at full speed. Of a stretch: what
// runs at its ends counts with the part inside.
std::vector<LinkUsage> link_usage(const Program& program, const Timeline& timeline, const LinkScope& scope = {});

// Those that hold something back, by what they add, the most first.
std::vector<LinkId> binding_links(const Program& program, std::span<const LinkUsage> links);

// How many groups of the cluster's ranks a group of a program stands for; of kNoGroup for how many ranks `rank` does.
double groups_meant(const Program& program, GroupId group, std::uint32_t rank);

}  // namespace mirfak
