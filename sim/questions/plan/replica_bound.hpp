#pragma once

#include "plan/pipeline_bound.hpp"
#include "plan/schedule_facts.hpp"

namespace mirfak {

// Returns a bound of the passes as in `PipelineBound` and of the replicas' collectives, which overlap with passes as
// far as they can. On a stage with chunks c = 0 .. v - 1, G_c and R_c are the times to gather the parameters of a chunk
// and to reduce its gradients, all on one stream in this order:
//   gathered once     the first forward pass of c waits for G_0 + ... + G_(c-1), and its last block for G_c too; the
//                     passes after that first pass run one after the other
//   reduced once      R_c .. R_0 follow the last backward pass of c, after which only few passes are left
//   in every pass     m times all of them
// The first pass of each chunk also follows that of the same chunk on the stage before, and of the chunk before on the
// last stage; likewise back for the last passes. The passes of the stage before the former and after the latter are
// known, and the stage runs all others between them:
//   end(s) >= start(first of c) + all passes but those before it and those after last of c'
//   end    >= end(last of c') + passes after it, here and on the stages that its gradient goes through
// Passes that are cut into parts take longer in parallel with collectives that hold multiprocessors. `end` covers both
// passes and collectives. `chunks`: the blocks of each stage's chunks; `terms`: as for pipeline_bound().
PipelineBound bound_with_replicas(const PricedBranch& branch, const PipelineChoice& choice, const StateChoice& state,
                                  const std::vector<std::vector<ChunkPlan>>& chunks, ScheduleFacts& facts,
                                  const PlaceTerms& terms);

}  // namespace mirfak
