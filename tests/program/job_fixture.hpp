#pragma once

#include "program/job.hpp"
#include "simulation/iteration.hpp"

#include <string>

namespace mirfak::test {

// A GPT of `layers` layers (hidden 1024, 16 heads) on `nodes` DGX A100, Megatron-LM of 2021, no dropout.
Job small_job(int layers, int nodes, const Strategy& strategy, std::int64_t global_batch);

// The same with communication and host for free, so that only compute and the schedule decide.
Job free_communication(Job job);

Cluster cluster_of(const std::string& node, int count);

// Sum over tasks of the given kind of their classes' bytes.
double bytes_on(const Program& program, StreamKind stream);

}  // namespace mirfak::test
