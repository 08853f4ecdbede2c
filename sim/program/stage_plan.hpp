#pragma once

#include "program/blocks_of_job.hpp"
#include "program/body_cache.hpp"
#include "schedule/schedule.hpp"
#include "strategy/rules.hpp"

#include <array>
#include <memory>
#include <span>
#include <vector>

namespace mirfak {

// Trained parameters on one rank, by who else holds them.
struct HeldParameters {
  double shared = 0;   // all replicas
  double experts = 0;  // only those that hold the same experts

  double total() const { return shared + experts; }
  HeldParameters& operator+=(const HeldParameters& other) {
    shared += other.shared;
    experts += other.experts;
    return *this;
  }
};

// Equal blocks in a row.
struct BlockRun {
  BlockId block = 0;
  int count = 0;
  // Of one of them, on one rank; a word embedding that its chunk holds twice counts once.
  double parameters = 0;  // trained
  double experts = 0;     // ... of these, those that fewer replicas hold
  double frozen = 0;      // not trained
  double largest = 0;     // the largest single parameter
};

// The blocks of one chunk in forward order: [embedding] layers [prediction modules] [heads].
struct ChunkPlan {
  std::vector<BlockRun> runs;
  bool embedding = false;  // whether the chunk holds it
  bool head = false;
  bool beside_embedding = false;  // whether its stage holds the embedding, which the head may be tied to
  // The embedding or the layers whose streams enter the chunk's layers, and leave them: what it exchanges with others.
  BlockId entering = ShardedBlocks::kEmbedding;
  BlockId leaving = ShardedBlocks::kEmbedding;
  double parameters = 0;  // trained ones on one rank
  double frozen = 0;      // the others

  void append(BlockId block, int count = 1);  // behind its runs, or to the last of them
  int blocks() const;
  // Of the block at `index` in forward order, 0 <= index < blocks().
  BlockId block(int index) const { return run_of(index).block; }
  // The same in the order in which a pass runs them.
  BlockId in_pass(int index, Pass::Kind kind) const { return block(is_forward(kind) ? index : blocks() - 1 - index); }
  double parameters_of(int index) const { return run_of(index).parameters; }
  HeldParameters held_by(int index) const {
    const BlockRun& run = run_of(index);
    return {run.parameters - run.experts, run.experts};
  }
  double frozen_of(int index) const { return run_of(index).frozen; }
  double largest_parameter() const;
  bool is_layer(int index) const {
    return !(embedding && index == 0) && !(head && index >= blocks() - runs.back().count);
  }

 private:
  const BlockRun& run_of(int index) const;
};

// The blocks that a layer of the model can be.
struct LayerBlocks {
  BlockId recomputed = 0;  // as the strategy says
  BlockId kept = 0;        // not at all
};
std::vector<LayerBlocks> layer_blocks(const Job& job, const ShardedBlocks& blocks);  // of every layer

// The blocks of a chunk, which it runs for these layers of the model; nothing of parameters yet.
ChunkPlan chunk_of(const Job& job, const ShardedBlocks& blocks, std::span<const LayerBlocks> layers,
                   const LayerRange& range, bool embedding, bool head);

// Parameters that one rank of a stage holds.
struct StageParameters {
  double elements = 0;         // trained
  double expert_elements = 0;  // ... of these, those of experts that fewer replicas hold
  double matrix_elements = 0;  // ... those of layers' matrices, where Muon steps; else 0
  double frozen_elements = 0;  // only held: no gradient, no optimizer state
  double bytes = 0;            // of all, in the formats that they are kept in
  double copy_bytes = 0;       // of copies in other formats
  double gathered_bytes_per_element = 0;
  double tied_elements = 0;            // of the word embedding that two stages hold and keep equal; 0: none
  double tensor_partial_elements = 0;  // gradients still partial over tensor ranks after a backward pass
  int tensors = 0;                     // that the elements belong to

  HeldParameters held() const { return {elements - expert_elements, expert_elements}; }
};

// Which two stages each sum the gradients of a word embedding that is the output projection too: holders of the first
// part of the model and of the last, in turn. A stage that holds both has one copy and nothing to sum.
std::vector<std::array<std::int32_t, 2>> tied_stages(const Placement& placement);

// What one stage holds, whatever hardware it runs on.
struct StageContents {
  StageContents(const Job& job, const ShardedBlocks& blocks, int stage);
  // Of chunks that say which blocks they run, and nothing of parameters yet.
  StageContents(const Job& job, const ShardedBlocks& blocks, int stage, std::vector<ChunkPlan> of_chunks);

  int stage = 0;
  std::vector<ChunkPlan> chunks;
  StageParameters parameters;
};

// What the replicas of one class do on one stage, their passes priced on their hardware: enough to build any of their
// ranks.
struct StagePlan : StageContents {
  // `classes`: all of the job; `own`: the index of these replicas' class. Without an order of passes.
  StagePlan(const Job& job, const ShardedBlocks& blocks, std::span<const ReplicaClass> classes, int stage, int own);

  int replica_class = 0;
  ReplicaClass replicas;
  double ranks = 0;  // that run it: the teams of all replicas
  StageCosts costs;
  std::vector<Pass> order;
  Picoseconds pass_host = 0;                               // the host's work at the start of a pass
  std::shared_ptr<const std::vector<BlockBodies>> bodies;  // indexed by BlockId; equal stages share them

  // That these ranks have; fewer than ranks where several share one.
  double gpus() const { return ranks / costs.hardware->hardware.spec.ranks_per_gpu; }
  // That a chunk runs: of a part of the model that several stages hold, each runs some.
  int microbatches_of(int chunk) const;
  const BlockBodies& bodies_of(BlockId block) const { return (*bodies)[static_cast<std::size_t>(block)]; }
  FoldedBody folded(const ChunkPlan& chunk, Pass::Kind kind) const;
  // Part of a pass: the blocks [first, last) of the chunk in the order of the pass. The parts of a pass in a row are
  // the pass.
  FoldedBody folded_part(const ChunkPlan& chunk, Pass::Kind kind, int first, int last) const;
};

// One plan per stage and class of replicas: stage after stage, of each stage class after class, so the plan of class c
// on stage s of a job of C classes stands at s * C + c. Plans on the same hardware share priced bodies. `clock_limits`:
// by plan, the share of the full clock that its devices are set to, where their nodes are not set lower.
std::vector<StagePlan> plan_stages(const Job& job, const ShardedBlocks& blocks,
                                   std::span<const double> clock_limits = {});
// The same with bodies that other jobs share: see BodyCache for what these must have in common. Stages of their own
// shape have those of their blocks (ShapedStage).
std::vector<StagePlan> plan_stages(const Job& job, const ShardedBlocks& blocks, std::span<const double> clock_limits,
                                   BodyCache& cache);

// The order of passes of every plan, which are priced.
void order_passes(const Job& job, const ShardedBlocks& blocks, std::span<StagePlan> plans);

// Of the plans of a job: its classes, and a stage's part, class after class.
int classes_of(std::span<const StagePlan> plans);
std::span<const StagePlan> plans_of(std::span<const StagePlan> plans, int stage);

}  // namespace mirfak
