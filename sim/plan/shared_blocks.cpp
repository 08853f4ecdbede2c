#include "plan/shared_blocks.hpp"

#include "program/data_parallel.hpp"
#include "program/memory.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// How many replicas there are does not matter to blocks, but whether there are any, and those that experts lie on.
int data_of_blocks(const Strategy& strategy) {
  const int span = strategy.expert_span().data;
  return strategy.data > span ? 2 * span : span;
}

// Prediction modules exist in one form, so their models' jobs that recompute nothing have blocks of their own; all
// others find layers that are not recomputed beside those that are.
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
  const Strategy& s = job.strategy;
  return {s.tensor,
          s.context,
          s.expert,
          s.tensor_of_experts(),
          s.data,
          s.micro_batch,
          static_cast<int>(s.sequence_parallel),
          static_cast<int>(s.overlap_tensor),
          static_cast<int>(s.overlap_expert),
          static_cast<int>(s.recompute),
          static_cast<int>(s.recompute_modules.to_ulong()),
          s.recompute_layers,
          static_cast<int>(s.context_communication),
          static_cast<int>(s.expert_dispatcher),
          static_cast<int>(data_parallel_plan(job).gathers_in_passes()),
          0};
}

std::shared_ptr<BlockSet> SharedBlocks::of(const Job& job) {
  Job asked = representative(job);
  const Key key = key_of(asked);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = sets_.find(key); known != sets_.end()) return known->second;
  }
  auto made = std::make_shared<BlockSet>(asked);
  const std::lock_guard lock(mutex_);
  return sets_.emplace(key, std::move(made)).first->second;
}

}  // namespace mirfak
