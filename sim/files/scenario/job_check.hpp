#pragma once

#include "base/document.hpp"
#include "program/job.hpp"

namespace mirfak {

// Throws Error(infeasible) at the key that breaks a rule (strategy/rules.hpp) or makes the job impossible on its
// cluster.
void check_job(const Document& document, const Job& job);

// True if every node's profile has host_memory_bandwidth, from which the time of an optimizer on the host follows.
bool can_offload_optimizer(const Cluster& cluster);
// Throws Error(input) at strategy.offload_optimizer if a node's profile lacks host_memory_bandwidth.
void check_offload(const Document& document, const Cluster& cluster);

}  // namespace mirfak
