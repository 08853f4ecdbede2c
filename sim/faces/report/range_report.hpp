#pragma once

#include "base/section.hpp"
#include "program/job.hpp"
#include "simulation/iteration.hpp"

namespace mirfak {

// Returns the range of an iteration of `job`, with what makes it wide: the user's own runs, or the uncertainties that
// concern it and the hosts that differ.
Section range_section(const Job& job, const IterationResult& result);

}  // namespace mirfak
