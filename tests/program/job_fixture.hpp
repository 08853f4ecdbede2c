#pragma once

#include "program/job.hpp"
#include "program/lowering.hpp"
#include "simulation/iteration.hpp"

#include <string>
#include <utility>
#include <vector>

namespace mirfak::test {

// A GPT of `layers` layers (hidden 1024, 16 heads) on `nodes` DGX A100, Megatron-LM of 2021, no dropout.
Job small_job(int layers, int nodes, const Strategy& strategy, std::int64_t global_batch);

// The same with communication and host for free, so that only compute and the schedule decide.
Job free_communication(Job job);

// A job with what its programs are written from.
struct Lowered {
  Job job;
  ShardedBlocks blocks;
  std::vector<StagePlan> plans;
  explicit Lowered(Job of) : job(std::move(of)), blocks(shard_blocks(job)), plans(plan_stages(job, blocks)) {}
  Program program(const LoweringOptions& options = {}) const { return lower(job, blocks, plans, options); }
};

Cluster cluster_of(const std::string& node, int count);

// A strategy of these sizes, and a job with these perturbations of its cluster.
Strategy sized(int tensor, int data, int pipeline);
Job perturbed_by(Job job, Perturbations perturbations);

// A fabric as a scenario writes it, such as "{type: full-bisection}"; so many DGX A100 on it.
Fabric fabric_from(const std::string& yaml);
Cluster nodes_on(const std::string& fabric, int nodes);
// small_job() of 8 layers on 16 nodes of 8 A100 on this fabric.
Job job_on_16_nodes(const std::string& fabric, int tensor, int pipeline, bool overlap);
std::string rails_of_two_nodes(double oversubscription);

// Sum over tasks of the given kind of their classes' bytes.
double bytes_on(const Program& program, StreamKind stream);

}  // namespace mirfak::test
