#pragma once

#include "program/data_parallel.hpp"
#include "program/lowering.hpp"
#include "program/network_loads.hpp"

#include <optional>
#include <span>

namespace mirfak {

// The ranks that a program has, and the steps that its passes are written in, as they follow from a job and from what
// is asked for.

// True if passes have the factors that cluster.perturbations gives ranks.
bool is_perturbed(const Job& job, const LoweringOptions& options);

// True if collectives of a stage's replicas use its ports while its passes run.
bool replicas_use_ports(const DataParallelPlan& data_parallel, const StagePlan& plan);

// Returns the options with the detail that the job needs: explicit ranks, shared links, passes divided into steps.
LoweringOptions detail_of(const Job& job, std::span<const StagePlan> plans, const LoweringOptions& options);

// Options with whole teams, if teams can stand for others; else unfolded.
LoweringOptions in_teams(const Job& job, std::span<const StagePlan> plans, const LoweringOptions& detail);

// True if a job has too many tasks for a program with all ranks, and all ranks are explicit only because their factors
// differ.
bool is_too_large_for_all(const Job& job, std::span<const StagePlan> plans, const LoweringOptions& options,
                          const LoweringOptions& detail);
// True if a program of ranks that short links slow unlike would have too many tasks.
bool is_too_large_to_tell_apart(const Job& job, std::span<const StagePlan> plans, const LoweringOptions& detail);

// Returns the options for lowering a program again if short links slow its replicas unlike; nullopt: the program is
// final.
std::optional<LoweringOptions> told_apart(const LoweredJob& lowered, const Job& job, std::span<const StagePlan> plans,
                                          std::span<const NetworkLoads::Wire> short_links,
                                          const LoweringOptions& options);

}  // namespace mirfak
