#pragma once

#include "program/blocks_of_job.hpp"

namespace mirfak {

// Returns the FLOPs of a block by which three times its forward pass exceeds what the model needs: gradients that are
// never computed, and rows of experts that no token chose.
double uncounted_flop(const Job& job, const PartitionedBlock& block, const StageCosts& costs);

}  // namespace mirfak
