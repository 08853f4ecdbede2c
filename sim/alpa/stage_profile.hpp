#pragma once

#include "alpa/mesh_plan.hpp"
#include "alpa/planning_choice.hpp"
#include "alpa/stage_partition.hpp"
#include "program/body_cache.hpp"
#include "program/memory.hpp"
#include "program/stage_plan.hpp"

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace mirfak::alpa {

// Which stages of a model are alike: the same kinds of layers in the same order, at the same ends of the model.
class StageClasses {
 public:
  explicit StageClasses(const Job& job);
  int of(int first, int end) const { return of_[static_cast<std::size_t>(first * (layers_ + 1) + end)]; }
  int count() const { return count_; }

 private:
  int layers_;
  int count_ = 0;
  std::vector<int> of_;
};

// What stages of one shape take and hold, whichever layers they run, as the engine prices and counts blocks: what Alpa
// measures of each stage that its integer program has planned (arXiv 2201.12023, section 5.2, "profiling").
class StageProfile {
 public:
  // `job`: with the sizes of the shape, as if one stage were all of it. `blocks`: with those of layers that are not
  // recomputed, where some are. `classes` must outlive this.
  StageProfile(Job job, ShardedBlocks blocks, const StageClasses& classes);

  const Job& job() const { return job_; }
  const ShardedBlocks& blocks() const { return blocks_; }
  const StageCosts& costs() const { return costs_; }
  StageShape shape() const { return job_.strategy.shape_of(0); }

  // Layers first <= i < end with whatever stands at the ends of the model, in this state. `seconds` has its
  // part of what follows an iteration's passes, and the transfers from and to the stage before, as if that had the same
  // shape. Bytes are those of the engine under 1F1B: of state with the workspace of a pass. Infinite seconds: it does
  // not fit in the host's memory. One thread at a time.
  StageOption option(int first, int end, const StateOfStages& state);

  // How many blocks of each BlockId such a stage runs.
  std::vector<int> counts(int first, int end, const StateOfStages& state) const;
  // Seconds of a microbatch's passes through one layer at least, in this state.
  double least_seconds(int layer, const StateOfStages& state) const;
  double least_seconds(const StateOfStages& state) const;  // of all layers

 private:
  double seconds_of(const StageContents& stage, const ChunkPlan& chunk, const Job& job) const;
  StageOption priced(const ChunkPlan& chunk, const Job& job, bool first) const;
  double transfer_s(const ChunkPlan& chunk) const;
  ChunkPlan chunk(int first, int end, const Job& job) const;
  Job in_state(bool alone, const StateOfStages& state) const;

  Job job_;
  Job staged_;  // the same as a stage among others
  ShardedBlocks blocks_;
  StageCosts costs_;
  std::vector<BlockMemory> memory_;
  std::shared_ptr<const std::vector<BlockBodies>> bodies_;
  std::vector<LayerBlocks> layers_;
  const StageClasses* classes_;
  std::map<std::pair<int, int>, std::vector<std::optional<StageOption>>> known_;  // by state and class
};

}  // namespace mirfak::alpa
