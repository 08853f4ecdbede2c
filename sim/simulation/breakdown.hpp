#pragma once

#include "cost/activity.hpp"
#include "engine/timeline.hpp"
#include "program/program.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace mirfak {

// Where the time of each of `ranks` goes, from 0 to the end of the iteration: while the compute stream works, as the
// classes of its tasks say; while it idles, by what the rank does meanwhile: tensor, pipeline or data communication (in
// this order), else the host while it issues what the device waits for, else bubble. The parts sum to the makespan.
// `ranks` are indices into program.ranks, each given once; the tasks are walked through once.
std::vector<ActivitySeconds> breakdown_of(const Program& program, const Timeline& timeline,
                                          std::span<const std::uint32_t> ranks);

}  // namespace mirfak
