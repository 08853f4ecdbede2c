#pragma once

#include "base/document.hpp"
#include "program/job.hpp"

namespace mirfak {

// Error(infeasible) at the key that breaks a rule (strategy/rules.hpp) or makes the job impossible on its cluster.
void check_job(const Document& document, const Job& job);

// Whether every node's profile has what an optimizer on the host takes its time from.
bool can_offload_optimizer(const Cluster& cluster);
// Error(input) at strategy.offload_optimizer where one has not.
void check_offload(const Document& document, const Cluster& cluster);

}  // namespace mirfak
