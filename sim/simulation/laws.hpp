#pragma once

#include "program/job.hpp"
#include "simulation/iteration.hpp"

#include <string>
#include <vector>

namespace mirfak {

// The laws of physics and of arithmetic that hold for every iteration, each broken one as a sentence with its figures:
//   the average power of a GPU is between idling and its limit,
//   a GPU executes no more than its peak, and without recomputation no more than with it,
//   what a GPU spends its time on adds up to the iteration.
// Empty for whatever simulate() returns: a sentence is a fault of the program, or of measured times that a result was
// made of (set_timeline). `result` is of `job`.
std::vector<std::string> broken_laws(const Job& job, const IterationResult& result);

// What a reader should know of these figures: broken laws, and what of the job's hardware was never measured, so that
// figures of other hardware stand in for it, with how much less sure that makes the iteration. In full sentences.
std::vector<std::string> notes_on(const Job& job, const IterationResult& result);

}  // namespace mirfak
