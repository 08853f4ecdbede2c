#include "simulation/sampled_experts.hpp"

#include "program/expert_load.hpp"
#include "program/lowering.hpp"
#include "program/program_size.hpp"

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

constexpr int kPlacements = 4096;  // placements of experts on ranks, which stand for all

bool has_experts(const PartitionedBlock& block) {
  return std::any_of(block.graph.operators.begin(), block.graph.operators.end(),
                     [](const Operator& op) { return op.kind == OperatorKind::dispatch; });
}

// Returns the number of expert groups among the ranks of the replicas that exchange rows.
int groups_of(const Strategy& strategy) {
  const ExpertSpan span = strategy.expert_span();
  const int of_tensor = span.tensor || strategy.tensor_of_experts() > 1 ? 1 : strategy.tensor;
  return of_tensor * (span.context ? 1 : strategy.context);
}

std::vector<int> expert_layers(const ShardedBlocks& blocks, const StagePlan& plan) {
  std::vector<int> out;
  for (const ChunkPlan& chunk : plan.chunks) {
    int layers = 0;
    for (const BlockRun& run : chunk.runs) layers += has_experts(blocks.of(run.block)) ? run.count : 0;
    out.push_back(layers);
  }
  return out;
}

// Returns the job on a cluster with the most popular experts on one rank.
Job with_fullest(Job job, std::vector<double> falling) {
  Perturbations perturbations = job.cluster.perturbations();
  perturbations.experts->tokens = std::move(falling);
  std::vector<NodeAllotment> nodes(job.cluster.groups().begin(), job.cluster.groups().end());
  job.cluster = Cluster(std::move(nodes), job.cluster.fabric(), std::move(perturbations), job.cluster.facility());
  return job;
}

}  // namespace

std::vector<Picoseconds> sampled_durations(const Job& job, std::span<const StagePlan> ordered) {
  const ShardedBlocks blocks = shard_blocks(job);
  std::vector<StagePlan> plans = plan_stages(job, blocks);
  for (std::size_t i = 0; i < plans.size(); ++i) plans[i].order = ordered[i].order;  // orders may follow from times
  return lower(job, blocks, plans, sampled_lowering(job, ordered)).duration;
}

LoweringOptions sampled_lowering(const Job& job, std::span<const StagePlan> plans) {
  constexpr double kMostTasks = 1e7;
  LoweringOptions out;
  out.unfolded = true;
  out.for_samples = true;
  out.passes_alone = !shares_switches_in_passes(job, plans) && expected_tasks(job, plans, out) > kMostTasks;
  return out;
}

SampledExperts sampled_experts(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans) {
  SampledExperts out;
  if (!job.cluster.perturbations().draws_experts()) return out;
  const ExpertPopularity& experts = *job.cluster.perturbations().experts;
  const std::vector<double> loads =
      experts.loads(static_cast<int>(job.model.mixture.experts), static_cast<int>(job.model.mixture.per_token));
  const Job fullest = with_fullest(job, loads);
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    const Strategy strategy = job.strategy.at(stage);
    SampledExperts::Stage& of = out.stages.emplace_back();
    if (strategy.expert == 1) continue;
    of.loads = fullest_ranks(loads, strategy.expert, kPlacements, job.cluster.perturbations().seed);
    of.load = expert_load(fullest.at(stage));
    of.replicas = strategy.expert_span().data;
    of.groups = groups_of(strategy);
    const auto plan = std::find_if(plans.begin(), plans.end(), [&](const StagePlan& at) { return at.stage == stage; });
    of.layers = expert_layers(blocks.at(stage), *plan);
  }
  out.fullest = sampled_durations(fullest, plans);
  return out;
}

}  // namespace mirfak
