#pragma once

#include "scenario/search_scenario.hpp"
#include "simulation/iteration.hpp"

#include <string>

namespace mirfak {

// Remedies that let a job run that needs more memory than there is: changes of its strategy, each of them tried, with
// the memory that the fullest stage then needs, and how much longer or shorter the iteration takes. Where none is
// enough, what they come to together; where that is not enough either, how many GPUs of the same nodes would do.
// Several lines, without a line end. `result`: of the job.
std::string memory_remedies(const Job& job, const IterationResult& result);

// The same of a search that found nothing that fits, with the headroom that it keeps: what would fit on its cluster or,
// where nothing does that was tried, on how many GPUs of the same nodes.
std::string memory_advice(const SearchScenario& search);

}  // namespace mirfak
