#pragma once

#include "program/job.hpp"
#include "sharding/partition.hpp"

namespace mirfak {

// What brings a tensor to where a step of a block needs it: as the step says, but for rows of experts. A dispatcher
// that gathers sends tokens, not rows, to the experts, and reduces and scatters what they make of them.
CollectiveKind collective_of(const Job& job, const PartitionedBlock& block, const BlockStep& step);

}  // namespace mirfak
