#pragma once

#include "base/made_once.hpp"
#include "plan/layer_bound.hpp"
#include "plan/pipeline_choice.hpp"
#include "program/block_hardware.hpp"
#include "program/block_memory.hpp"
#include "program/blocks_of_job.hpp"
#include "program/body_cache.hpp"
#include "program/reserved_memory.hpp"
#include "strategy/block_fields.hpp"

#include <memory>
#include <tuple>
#include <vector>

namespace mirfak {

// Blocks that many strategies run, with the results that depend on nothing else. Each kind of layer exists in a
// recomputed and a kept form.
struct BlockSet {
  explicit BlockSet(const Job& job);

  ShardedBlocks blocks;
  std::vector<BlockMemory> memory;  // by BlockId
  BodyCache bodies{BodyCache::Keep::folds};
  KnownReplays replays;
};

// Shards the blocks of a model once for all strategies that shard them alike. May be used by several threads at once.
class SharedBlocks {
 public:
  // `schedule`: one that demands most of the blocks, among all schedules that use them
  // (StrategySpace::demanding_schedule).
  explicit SharedBlocks(ScheduleId schedule = kDefaultSchedule) : schedule_(schedule) {}

  // Returns the blocks of `job`; if stages have shapes, `job` is as one stage sees it. All jobs must have the same
  // model, training and framework.
  std::shared_ptr<BlockSet> of(const Job& job);
  // Returns the bound of the job's layers, without sharding the other blocks.
  std::shared_ptr<LayerBound> layers_of(const Job& job);
  // Returns pipeline_choices() in which no stage has more than `most` layers (empty: any number), listed once for all
  // layouts whose stages differ in the same way. All callers must have the same space.
  using Pipelines = std::shared_ptr<const std::vector<PipelineChoice>>;
  Pipelines pipelines_of(const Job& job, const StrategySpace& space, const std::vector<int>& hardware_of,
                         const std::vector<int>& most);

 private:
  using Key = std::tuple<BlockFields, BlockHardware, bool>;  // last: parameters are gathered in every pass
  // Key of the job with another strategy: copies of jobs take long, and most keys are known.
  static Key key_of(const Job& job, const Strategy& strategy);

  ScheduleId schedule_;
  MadeOnce<Key, std::shared_ptr<BlockSet>> sets_;
  MadeOnce<Key, std::shared_ptr<LayerBound>> layers_;
  // Keys: the hardware of stages, their most layers; the last: stages have shapes.
  MadeOnce<std::tuple<std::vector<int>, std::vector<int>, Recompute, bool>, Pipelines> pipelines_;
};

}  // namespace mirfak
