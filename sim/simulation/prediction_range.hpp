#pragma once

#include "cost/range_widths.hpp"
#include "program/job.hpp"
#include "simulation/iteration.hpp"

#include <string>

namespace mirfak {

// The shares of `result`, an iteration of `job`, that each uncertainty concerns, on average over its ranks.
UncertaintyShares uncertainty_shares(const Job& job, const IterationResult& result);

// "18.6 to 21.5 s"; of a result that has a range.
std::string range_text(const IterationResult& result);

}  // namespace mirfak
