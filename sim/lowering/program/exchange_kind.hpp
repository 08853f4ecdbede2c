#pragma once

#include "program/job.hpp"
#include "sharding/partition.hpp"

namespace mirfak {

// The collective that brings a tensor to the ranks where a step of a block needs it. It is the step's own collective,
// except for rows of experts: a dispatcher that gathers sends tokens instead of rows to the experts, and reduces and
// scatters the experts' results.
CollectiveKind collective_of(const Job& job, const PartitionedBlock& block, const BlockStep& step);

}  // namespace mirfak
