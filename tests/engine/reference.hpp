#pragma once

#include "engine/timeline.hpp"
#include "program/program.hpp"

#include <utility>
#include <vector>

namespace mirfak {

// The slow, obviously right engine against which the fast ones are checked. It keeps no queue, no incremental state
// and no order of events: without links it relaxes the definition of a start until nothing changes; with links it
// looks, at every instant, at every task, and computes all speeds from scratch.
Timeline reference_execute(const Program& program);

// Max-min fair speeds by rescanning all links for each that saturates.
// demands[task] lists {link, bytes/s at speed 1}; capacities are bytes/s.
std::vector<double> reference_speeds(const std::vector<std::vector<std::pair<LinkId, double>>>& demands,
                                     const std::vector<double>& capacities);

}  // namespace mirfak
