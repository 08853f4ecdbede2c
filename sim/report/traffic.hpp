#pragma once

#include "engine/iteration.hpp"
#include "report/stream_index.hpp"

#include <functional>
#include <string>
#include <vector>

namespace mirfak {

struct TrafficPoint {
  Picoseconds time = 0;
  double bytes_per_s = 0;  // until the next point
};

// What crosses one link over time: a shared link of the program, or the communication stream of a rank.
struct LinkTraffic {
  std::string name;
  std::int64_t rank = -1;            // index into program.ranks; -1: a shared link
  StreamKind stream{};               // of the rank
  double capacity = 0;               // bytes/s at line rate
  std::vector<TrafficPoint> points;  // as the series of rank_series.hpp
};

// Hands over each shared link's traffic, then each communication stream's that has tasks, rank by rank. A task's
// bytes cross evenly from its start to its end. The line rate of a stream is that of the scale-up link, or of the
// share of network ports that a rank or its data-parallel group has, whichever its traffic takes.
void for_each_link(const Simulation& simulation, const StreamIndex& index,
                   const std::function<void(const LinkTraffic&)>& take);

}  // namespace mirfak
