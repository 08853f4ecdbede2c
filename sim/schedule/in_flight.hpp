#pragma once

#include "schedule/schedule.hpp"

#include <cstdint>
#include <vector>

namespace mirfak {

// Moments of a stage's iteration at which its memory may be fullest: a pass runs while so many microbatches of each
// chunk have done their forward pass, the running one included, and not ended a backward pass, and so many have their
// gradients of inputs but not of weights yet, for which part of what they keep is still there.
struct InFlightMoment {
  Pass::Kind kind{};
  std::int32_t chunk = 0;
  std::vector<std::int32_t> microbatches;  // of each chunk
  std::vector<std::int32_t> weights_due;   // ... those between the two halves of a split backward pass; empty: none
  // The chunk of the backward pass that a forward pass runs beside, and its kind; -1: alone.
  std::int32_t beside = -1;
  Pass::Kind beside_kind = Pass::Kind::backward;
};

// Of each stage, the moments that no other moment with the same pass dominates: whatever a microbatch of each chunk
// keeps and whatever its passes need, the fullest moment is among them. In the order of the schedule.
//
// The order of a schedule that alternates is periodic once it is warm, so a few rounds of microbatches stand for all.
std::vector<std::vector<InFlightMoment>> fullest_moments(const Schedule& schedule, const PipelineShape& shape,
                                                         const PassTimes& times = {});

}  // namespace mirfak
