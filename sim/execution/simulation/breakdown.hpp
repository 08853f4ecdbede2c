#pragma once

#include "cost/activity.hpp"
#include "engine/timeline.hpp"
#include "program/program.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace mirfak {

// Returns how the time of each of `ranks` divides, from 0 to the end of the iteration. While the compute stream works,
// the classes of its tasks divide the time. While the compute stream idles, the time counts as the communication that
// the rank does meanwhile (tensor, context, expert, pipeline or data, in this order), else as host if the device waits
// for an issue of the host, else as bubble. The parts sum to the makespan. `ranks` are indices into program.ranks, each
// given once; the tasks are walked through once, or by a few threads, each for a part of the ranks.
std::vector<ActivitySeconds> breakdown_of(const Program& program, const Timeline& timeline,
                                          std::span<const std::uint32_t> ranks);

}  // namespace mirfak
