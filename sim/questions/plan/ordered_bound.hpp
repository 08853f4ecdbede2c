#pragma once

#include "plan/pipeline_bound.hpp"

#include <vector>

namespace mirfak {

// Raises the ends of stages to those of the schedule's own order, for schedules that place chunks or split backward
// passes as they like (not PipelineChoice::plain). Each stage runs its passes one after the other, in the order of the
// schedule, and its replicas' collectives on a stream of their own:
//   end(pass)   >= max(end(pass before it), end(pass that makes its input) + transfer) + its length
//   end(pass)   >= the host's work on all passes until then
//   end(first forward pass of a chunk) >= the gathers of its parameters and of those before, where they overlap with it
//   reduced     >= start(last pass that makes gradients of weights of a chunk) + its reductions
// Nothing is done for schedules that run passes in pairs, or whose order depends on times. `chunks`: the blocks of each
// stage's chunks; `terms`: as for pipeline_bound().
void follow_order(const PricedBranch& branch, const PipelineChoice& choice, const StateChoice& state,
                  const std::vector<std::vector<ChunkPlan>>& chunks, const PlaceTerms& terms, PipelineBound& bound);

}  // namespace mirfak
