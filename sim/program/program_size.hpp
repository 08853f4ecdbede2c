#pragma once

#include "program/lowering.hpp"

namespace mirfak {

inline constexpr double kMaxTasks = 1U << 27U;  // some 10 GB with the timeline

// About so many tasks.
double expected_tasks(const Job& job, std::span<const StagePlan> stages, const LoweringOptions& options);

// Refuses, before it is built, a program that would not fit in memory: Error(infeasible).
void check_program_size(const Job& job, std::span<const StagePlan> stages, const LoweringOptions& options);

}  // namespace mirfak
