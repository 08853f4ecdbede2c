#pragma once

#include "program/job.hpp"
#include "simulation/iteration.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Returns the laws of physics and of arithmetic that `result` breaks, a sentence with figures for each. These laws hold
// for every iteration:
//   the average power of a GPU is between idling and its limit,
//   a GPU executes no more than its peak, and without recomputation no more than with it,
//   the times of a GPU's activities add up to the iteration.
// Empty for any result of simulate(): a sentence is a fault of the program, or of measured times that a result was made
// of (set_timeline). `result` is a result of `job`.
std::vector<std::string> broken_laws(const Job& job, const IterationResult& result);

// Returns notes that a reader of these figures should know, in full sentences: broken laws, and hardware of the job
// that was never measured, so that figures of other hardware stand in for it, with the uncertainty of the iteration
// that this adds.
std::vector<std::string> notes_on(const Job& job, const IterationResult& result);

}  // namespace mirfak
