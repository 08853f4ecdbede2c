#pragma once

#include "program/lowering.hpp"

namespace mirfak {

inline constexpr double kMaxTasks = 1U << 27U;  // some 10 GB with the timeline

// Estimate of the number of tasks of a program.
double expected_tasks(const Job& job, std::span<const StagePlan> stages, const LoweringOptions& options);

// Refuses a program that would not fit in memory before it is built: Error(infeasible).
void check_program_size(const Job& job, std::span<const StagePlan> stages, const LoweringOptions& options);

}  // namespace mirfak
