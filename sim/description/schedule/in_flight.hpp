#pragma once

#include "schedule/schedule.hpp"

#include <cstdint>
#include <vector>

namespace mirfak {

// Moment of a stage's iteration at which its memory may be fullest. While a pass runs, `microbatches` of each chunk
// have done or are doing their forward pass and have not ended a backward pass; `weights_due` of each chunk have their
// gradients of inputs but not of weights, so that part of their activations is still kept.
struct InFlightMoment {
  Pass::Kind kind{};
  std::int32_t chunk = 0;
  std::vector<std::int32_t> microbatches;  // microbatches of each chunk
  std::vector<std::int32_t> weights_due;   // by chunk: those between the halves of a split backward pass; empty: none
  // Chunk and kind of the backward pass that is overlapped with a forward pass; -1: the pass runs alone.
  std::int32_t beside = -1;
  Pass::Kind beside_kind = Pass::Kind::backward;
};

// Returns for each stage the moments that no other moment with the same pass dominates, in the order of the schedule.
// For any memory per microbatch of each chunk and any memory that passes need, the fullest moment is among them.
//
// The order of a schedule that alternates is periodic after warm-up, so a few rounds of microbatches represent all
// rounds.
std::vector<std::vector<InFlightMoment>> fullest_moments(const Schedule& schedule, const PipelineShape& shape,
                                                         const PassTimes& times = {});

}  // namespace mirfak
