#include "plan/shared_blocks.hpp"

#include "plan/shaped_layouts.hpp"
#include "program/data_parallel.hpp"
#include "program/memory.hpp"

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

// Blocks depend on the number of replicas that experts lie on, and on whether there are more replicas, but not on how
// many.
int data_of_blocks(const Strategy& strategy) {
  const int span = strategy.expert_span().data;
  return strategy.data > span ? 2 * span : span;
}

Job with_strategy(Job job, Strategy strategy) {
  job.strategy = std::move(strategy);
  return job;
}

// Returns the strategy of a job as one stage sees it. Prediction modules exist in one form only, so jobs of models with
// such modules that recompute nothing have blocks of their own; all other jobs find kept layers next to recomputed
// ones.
Strategy representative(const Job& job) {
  Strategy out = job.strategy;
  out.stages.clear();
  const bool own = job.model.prediction_layers > 0;
  if (out.recompute == Recompute::none && !own) out.recompute = Recompute::full;
  out.recompute_layers = out.recompute == Recompute::none ? 0 : 1;
  out.recompute_method = RecomputeMethod::block;
  out.data = data_of_blocks(out);
  return out;
}

}  // namespace

BlockSet::BlockSet(const Job& job) : blocks(shard_blocks(job)), memory(memory_of_blocks(job, blocks)) {}

SharedBlocks::Key SharedBlocks::key_of(const Job& job, const Strategy& strategy) {
  return {BlockFields(strategy), BlockHardware(job), data_parallel_plan(job.framework, strategy).gathers_in_passes()};
}

std::shared_ptr<BlockSet> SharedBlocks::of(const Job& job) {
  Strategy all = representative(job);
  all.schedule = schedule_;
  return sets_.get(key_of(job, all), [&] { return std::make_shared<BlockSet>(with_strategy(job, std::move(all))); });
}

SharedBlocks::Pipelines SharedBlocks::pipelines_of(const Job& job, const StrategySpace& space,
                                                   const std::vector<int>& hardware_of, const std::vector<int>& most) {
  const bool shaped = !job.strategy.stages.empty();
  return pipelines_.get({hardware_of, most, job.strategy.recompute, shaped}, [&] {
    return std::make_shared<const std::vector<PipelineChoice>>(pipeline_choices(
        shaped ? space_of_shaped(space) : space, job.model.layers, hardware_of, job.strategy.recompute, most));
  });
}

std::shared_ptr<LayerBound> SharedBlocks::layers_of(const Job& job) {
  Strategy kept = job.strategy;
  kept.stages.clear();
  kept.recompute = Recompute::none;
  kept.recompute_layers = 0;
  kept.recompute_modules = Strategy().recompute_modules;
  kept.data = data_of_blocks(job.strategy);
  return layers_.get(key_of(job, kept),
                     [&] { return std::make_shared<LayerBound>(with_strategy(job, std::move(kept))); });
}

}  // namespace mirfak
