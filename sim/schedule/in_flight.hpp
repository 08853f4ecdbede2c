#pragma once

#include "schedule/schedule.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace mirfak {

// Moments of a stage's iteration at which its memory may be fullest: a pass runs while so many microbatches of each
// chunk have done their forward pass, the running one included, and not ended their backward pass.
struct InFlightMoment {
  Pass::Kind kind{};
  std::int32_t chunk = 0;
  std::vector<std::int32_t> microbatches;  // of each chunk
};

// The moments that no other moment with the same pass dominates: whatever a microbatch of each chunk keeps and whatever
// its passes need, the fullest moment is among them. In the order of the schedule.
//
// The order of a schedule that alternates is periodic once it is warm, so a few rounds of microbatches stand for all.
std::vector<InFlightMoment> fullest_moments(ScheduleKind schedule, const PipelineShape& shape, int stage);

}  // namespace mirfak
