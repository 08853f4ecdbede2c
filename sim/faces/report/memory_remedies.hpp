#pragma once

#include "scenario/search_scenario.hpp"
#include "simulation/iteration.hpp"

#include <string>

namespace mirfak {

// Returns remedies for a job that needs more memory than there is: changes of its strategy, each of them tried, with
// the memory that the fullest stage then needs and the change of the iteration's time. If no change is enough, returns
// their effect together; if that is not enough either, the number of GPUs of the same nodes that would do. Several
// lines, without a line end. `result`: the result of the job.
std::string memory_remedies(const Job& job, const IterationResult& result);

// Returns remedies for a search that found nothing that fits with the headroom that it keeps: changes that would fit on
// its cluster or, if no tried change does, the number of GPUs of the same nodes that would do.
std::string memory_advice(const SearchScenario& search);

}  // namespace mirfak
