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

// Classes of stages of a model that are alike: the same kinds of layers in the same order, at the same ends of the
// model.
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

// Time and memory of stages of one shape, for any layers, as the engine prices and counts blocks: the values that Alpa
// measures for each stage that its integer program has planned (arXiv 2201.12023, section 5.2, "profiling").
class StageProfile {
 public:
  // `job` has the sizes of the shape, as if one stage were the whole job. `blocks` include those of layers without
  // recomputation, if there are such layers. `classes` must outlive this object.
  StageProfile(Job job, ShardedBlocks blocks, const StageClasses& classes);

  const Job& job() const { return job_; }
  const ShardedBlocks& blocks() const { return blocks_; }
  const StageCosts& costs() const { return costs_; }
  StageShape shape() const { return job_.strategy.shape_of(0); }

  // Returns the time and memory of layers first <= i < end, with the embedding or head at the ends of the model, in
  // this state. `seconds` includes the stage's part of the work after an iteration's passes, and a transfer from the
  // stage before, as if that stage had the same shape. Bytes are those of the engine under 1F1B; state includes the
  // workspace of a pass. Infinite seconds: the state does not fit in the host's memory. For one thread at a time.
  StageOption option(int first, int end, const StateOfStages& state);

  // Returns the number of blocks of each BlockId that such a stage runs.
  std::vector<int> counts(int first, int end, const StateOfStages& state) const;
  // Least seconds of a microbatch's passes through one layer, in this state.
  double least_seconds(int layer, const StateOfStages& state) const;
  double least_seconds(const StateOfStages& state) const;  // for all layers

 private:
  double seconds_of(const StageContents& stage, const ChunkPlan& chunk, const Job& job) const;
  StageOption priced(const ChunkPlan& chunk, const Job& job, bool first) const;
  double transfer_s(const ChunkPlan& chunk) const;
  ChunkPlan chunk(int first, int end, const Job& job) const;
  Job in_state(bool alone, const StateOfStages& state) const;

  Job job_;
  Job staged_;  // job_ as a stage among others
  ShardedBlocks blocks_;
  StageCosts costs_;
  std::vector<BlockMemory> memory_;
  std::shared_ptr<const std::vector<BlockBodies>> bodies_;
  std::vector<LayerBlocks> layers_;
  const StageClasses* classes_;
  std::map<std::pair<int, int>, std::vector<std::optional<StageOption>>> known_;  // by state and class
};

}  // namespace mirfak::alpa
