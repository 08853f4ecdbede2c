#pragma once

#include "plan/pipeline_bound.hpp"
#include "plan/schedule_facts.hpp"

namespace mirfak {

// Passes as in `PipelineBound`, and beside them the collectives of the replicas that hide behind passes as far as they
// can. On a stage with chunks c = 0 .. v - 1, G_c and R_c what gathering the parameters of a chunk and reducing its
// gradients takes, all of it on one stream in this order:
//   gathered once     the first forward pass of c waits for G_0 + ... + G_(c-1), and its last block for G_c too; the
//                     passes behind it run one after the other
//   reduced once      R_c .. R_0 follow the last backward pass of c, behind which there are few passes left
//   in every pass     m times all of them
// Passes that are cut take longer, beside collectives that hold multiprocessors. `end` is that of passes and
// collectives alike.
PipelineBound bound_with_replicas(const Branch& branch, const PipelineChoice& choice, const StateChoice& state,
                                  ScheduleFacts& facts);

}  // namespace mirfak
