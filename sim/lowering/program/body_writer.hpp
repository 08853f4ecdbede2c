#pragma once

#include "program/blocks_of_job.hpp"
#include "program/body.hpp"
#include "program/job.hpp"

namespace mirfak {

// Bodies of one block for one microbatch, priced step by step: the forward pass; the backward pass with what is
// recomputed; and the block's steps after the optimizer step, once an iteration.
Body forward_body(const Job& job, const PartitionedBlock& block, const StageCosts& costs);
Body backward_body(const Job& job, const PartitionedBlock& block, const StageCosts& costs);
Body update_body(const Job& job, const PartitionedBlock& block, const StageCosts& costs);

}  // namespace mirfak
