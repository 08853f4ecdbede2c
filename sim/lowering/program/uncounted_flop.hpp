#pragma once

#include "program/blocks_of_job.hpp"

namespace mirfak {

// Returns the FLOPs of a block that three times its forward pass counts although the model does not need them: those
// of gradients that nobody computes, and of rows of experts that no token chose.
double uncounted_flop(const Job& job, const PartitionedBlock& block, const StageCosts& costs);

}  // namespace mirfak
