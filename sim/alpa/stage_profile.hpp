#pragma once

#include "alpa/mesh_plan.hpp"
#include "alpa/stage_partition.hpp"
#include "program/body_cache.hpp"
#include "program/memory.hpp"
#include "program/stage_plan.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace mirfak::alpa {

// What stages of one shape take and hold, whichever layers they run, as the engine prices and counts blocks: what Alpa
// measures of each stage that its integer program has planned (arXiv 2201.12023, section 5.2, "profiling").
class StageProfile {
 public:
  // `job`: with the sizes of the shape, as if one stage were all of it.
  StageProfile(Job job, ShardedBlocks blocks);

  const Job& job() const { return job_; }
  const ShardedBlocks& blocks() const { return blocks_; }
  const StageCosts& costs() const { return costs_; }
  StageShape shape() const { return job_.strategy.shape_of(0); }

  // Layers first <= i < end with whatever stands at the ends of the model, with this stage of ZeRO. `seconds` has its
  // part of what follows an iteration's passes, and the transfers from and to the stage before, as if that had the same
  // shape. Bytes are those of the engine under 1F1B: of state with the workspace of a pass. Infinite seconds: it does
  // not fit in the host's memory. One thread at a time.
  StageOption option(int first, int end, int zero);

  // How many blocks of each BlockId such a stage runs.
  std::vector<int> counts(int first, int end) const;
  // Seconds of all layers, forward and backward, on as many devices as the shape has: no stages of it are faster.
  double least_seconds() const;

 private:
  struct Terms;
  StageOption priced(const ChunkPlan& chunk, const Job& job, bool first) const;
  ChunkPlan chunk(int first, int end) const;

  Job job_;
  Job staged_;  // the same as a stage among others
  ShardedBlocks blocks_;
  StageCosts costs_;
  std::vector<BlockMemory> memory_;
  std::shared_ptr<const std::vector<BlockBodies>> bodies_;
  std::vector<LayerBlocks> layers_;
  double transfer_s_ = 0;                 // one way
  std::vector<std::vector<int>> before_;  // of each layer and BlockId: so many blocks stand before it
  std::map<std::vector<int>, StageOption> known_;
};

}  // namespace mirfak::alpa
