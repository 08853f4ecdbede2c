#pragma once

#include "simulation/iteration.hpp"
#include "simulation/link_use.hpp"
#include "trace/stream_index.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Traffic of one link over time: a shared link of the program, or the communication stream of a rank.
struct LinkTraffic {
  std::string name;
  std::int64_t rank = -1;  // index into program.ranks; -1: a shared link
  StreamKind stream{};     // kind of that rank's stream
  // A series like those of rank_series.hpp; LinkUsePoint::use is the share of the line rate.
  std::vector<LinkUsePoint> points;
};

std::string full_name(const Link& link);  // with the number of equal links

// Passes each shared link's traffic to `take` (tasks cross a link at the speeds at which the engine ran them), and then
// the traffic of each communication stream that has tasks, rank by rank (a task's bytes cross evenly from its start to
// its end). The line rate of a shared link is its own. The line rate of a stream is that of the scale-up link, or of
// the share of network ports that a rank, or the ranks of a group on one node, have, whichever the task uses.
// `shared`: link_usage() of the simulation.
void for_each_link(const Simulation& simulation, const StreamIndex& index, std::span<const LinkUsage> shared,
                   const std::function<void(const LinkTraffic&)>& take);

}  // namespace mirfak
