#include "plan/shared_blocks.hpp"

#include "plan/shaped_layouts.hpp"
#include "program/data_parallel.hpp"
#include "program/memory.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// Blocks depend on the number of replicas that experts lie on, and on whether there are more replicas, but not on how
// many.
int data_of_blocks(const Strategy& strategy) {
  const int span = strategy.expert_span().data;
  return strategy.data > span ? 2 * span : span;
}

// Returns a job as one stage sees it, without the other stages.
Job of_one_shape(Job job) {
  job.strategy.stages.clear();
  return job;
}

// Prediction modules exist in one form only, so jobs of models with such modules that recompute nothing have blocks of
// their own; all other jobs find kept layers next to recomputed ones.
Job representative(Job job) {
  Strategy& strategy = job.strategy;
  const bool own = job.model.prediction_layers > 0;
  if (strategy.recompute == Recompute::none && !own) strategy.recompute = Recompute::full;
  strategy.recompute_layers = strategy.recompute == Recompute::none ? 0 : 1;
  strategy.recompute_method = RecomputeMethod::block;
  strategy.data = data_of_blocks(strategy);
  return job;
}

}  // namespace

BlockSet::BlockSet(const Job& job) : blocks(shard_blocks(job)), memory(memory_of_blocks(job, blocks)) {}

SharedBlocks::Key SharedBlocks::key_of(const Job& job) {
  return {BlockFields(job.strategy), BlockHardware(job), data_parallel_plan(job).gathers_in_passes()};
}

std::shared_ptr<BlockSet> SharedBlocks::of(const Job& job) {
  Job all = representative(of_one_shape(job));
  all.strategy.schedule = schedule_;
  return sets_.get(key_of(all), [&] { return std::make_shared<BlockSet>(all); });
}

SharedBlocks::Pipelines SharedBlocks::pipelines_of(const Job& job, const StrategySpace& space,
                                                   const std::vector<int>& hardware_of) {
  const bool shaped = !job.strategy.stages.empty();
  return pipelines_.get({hardware_of, job.strategy.recompute, shaped},
                        [&] { return pipelines_of(job, space, hardware_of, {}); });
}

SharedBlocks::Pipelines SharedBlocks::pipelines_of(const Job& job, const StrategySpace& space,
                                                   const std::vector<int>& hardware_of, std::span<const int> most) {
  const bool shaped = !job.strategy.stages.empty();
  return std::make_shared<const std::vector<PipelineChoice>>(pipeline_choices(
      shaped ? space_of_shaped(space) : space, job.model.layers, hardware_of, job.strategy.recompute, most));
}

std::shared_ptr<LayerBound> SharedBlocks::layers_of(const Job& job) {
  Job kept = of_one_shape(job);
  kept.strategy.recompute = Recompute::none;
  kept.strategy.recompute_layers = 0;
  kept.strategy.recompute_modules = Strategy().recompute_modules;
  kept.strategy.data = data_of_blocks(job.strategy);
  return layers_.get(key_of(kept), [&] { return std::make_shared<LayerBound>(kept); });
}

}  // namespace mirfak
