#pragma once

#include "simulation/iteration.hpp"
#include "simulation/link_use.hpp"
#include "trace/stream_index.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

struct TrafficPoint {
  Picoseconds time = 0;
  double bytes_per_s = 0;  // until the next point
  double utilisation = 0;  // as a share of the line rate
};

// What crosses one link over time: a shared link of the program, or the communication stream of a rank.
struct LinkTraffic {
  std::string name;
  std::int64_t rank = -1;            // index into program.ranks; -1: a shared link
  StreamKind stream{};               // of the rank
  std::vector<TrafficPoint> points;  // as the series of rank_series.hpp
};

std::string full_name(const Link& link);  // with the number of those alike

// Hands over each shared link's traffic (tasks cross it at the speeds at which the engine ran them), then each
// communication stream's that has tasks, rank by rank (a task's bytes cross evenly from its start to its end). The line
// rate of a shared link is its own. That of a stream is the scale-up link's, or that of the share of network ports that
// a rank, or the ranks of a group on one node, have, whichever the task takes.
// `shared`: link_usage() of the simulation.
void for_each_link(const Simulation& simulation, const StreamIndex& index, std::span<const LinkUsage> shared,
                   const std::function<void(const LinkTraffic&)>& take);

}  // namespace mirfak
