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

// Trained tensors that replicas exchange one by one, and those that they do not: in 4 bits (quantized_exchange.hpp), or
// divided over replicas (divided_weights.hpp). All are 0 without such exchanges.
struct TensorCounts {
  double tensors = 0;
  double expert_tensors = 0;  // of these, with divided weights: of experts that fewer replicas hold
  double whole_tensors = 0;
  double whole_elements = 0;

  TensorCounts& operator+=(const TensorCounts& other) {
    tensors += other.tensors;
    expert_tensors += other.expert_tensors;
    whole_tensors += other.whole_tensors;
    whole_elements += other.whole_elements;
    return *this;
  }
};

// Trained parameters on one rank, by the replicas that hold them.
struct HeldParameters {
  double shared = 0;   // held by all replicas
  double experts = 0;  // held only by the replicas that hold the same experts
  TensorCounts counts = {};

  double total() const { return shared + experts; }
  HeldParameters& operator+=(const HeldParameters& other) {
    shared += other.shared;
    experts += other.experts;
    counts += other.counts;
    return *this;
  }
};

// Consecutive equal blocks.
struct BlockRun {
  BlockId block = 0;
  int count = 0;
  // Parameters of one of the blocks, on one rank; a word embedding that its chunk holds twice counts once.
  double parameters = 0;      // trained parameters
  double experts = 0;         // trained parameters that fewer replicas hold
  double frozen = 0;          // parameters that are not trained
  double largest = 0;         // largest single parameter
  bool frozen_whole = false;  // training.frozen leaves the block without gradients
  bool forward_only = false;  // of a ForwardOnlyPass
  bool copy = false;          // of such a pass with parameters of its own, which count with this run
  bool end = false;           // of such a pass: its embedding or head
  TensorCounts counts = {};
  HeldParameters divided = {};     // weights that replicas divide, which a pass reads (divided_weights.hpp)
  HeldParameters recomputed = {};  // those of them that recomputation reads
};

// The blocks of one chunk in forward order: [embedding] layers [prediction modules] [heads] [passes that only go
// forward].
struct ChunkPlan {
  std::vector<BlockRun> runs;
  bool embedding = false;  // the chunk holds the embedding
  bool head = false;
  bool words = false;             // the chunk holds the word embeddings: after a tower, if there is one
  bool beside_embedding = false;  // the chunk's stage holds the word embeddings, which the head may be tied to
  // The embedding or the layers whose streams enter and leave the chunk's layers: the chunk exchanges these streams.
  BlockId entering = ShardedBlocks::kEmbedding;
  BlockId leaving = ShardedBlocks::kEmbedding;
  double parameters = 0;  // trained parameters on one rank
  double frozen = 0;      // other parameters on one rank

  void append(BlockId block, int count = 1);  // adds blocks after its runs, or to the last run
  // Adds a pass that only goes forward, with layers of these blocks. `copy`: BlockRun::copy.
  void append(const ForwardOnlyPass& pass, bool copy, std::span<const BlockId> layers);
  int blocks() const;
  int own_blocks() const;  // without those of passes that only go forward, which come last
  // The block at `index` in forward order, 0 <= index < blocks().
  BlockId block(int index) const { return run_of(index).block; }
  // The block at `index` in the order in which a pass runs the blocks.
  BlockId in_pass(int index, Pass::Kind kind) const { return block(is_forward(kind) ? index : blocks() - 1 - index); }
  double parameters_of(int index) const { return run_of(index).parameters; }
  HeldParameters held_by(int index) const {
    const BlockRun& run = run_of(index);
    return {run.parameters - run.experts, run.experts, run.counts};
  }
  const HeldParameters& divided_of(int index) const { return run_of(index).divided; }
  const HeldParameters& recomputed_of(int index) const { return run_of(index).recomputed; }
  double frozen_of(int index) const { return run_of(index).frozen; }
  bool frozen_whole(int index) const { return run_of(index).frozen_whole; }
  bool forward_only(int index) const { return run_of(index).forward_only; }
  bool holds_copy(int index) const { return run_of(index).copy; }
  double largest_parameter() const;
  bool is_layer(int index) const;

 private:
  const BlockRun& run_of(int index) const;
};

// The blocks that may stand for a layer of the model.
struct LayerBlocks {
  BlockId recomputed = 0;  // recomputed as the strategy says
  BlockId kept = 0;        // not recomputed
};
std::vector<LayerBlocks> layer_blocks(const Job& job, const ShardedBlocks& blocks);  // for every layer

// A chunk with the blocks that it runs for these layers of the model; parameters are not set yet.
ChunkPlan chunk_of(const ModelSpec& model, const Strategy& strategy, const ShardedBlocks& blocks,
                   std::span<const LayerBlocks> layers, const LayerRange& range, bool embedding, bool head);

// Parameters that one rank of a stage holds.
struct StageParameters {
  double elements = 0;         // trained parameters
  double expert_elements = 0;  // trained parameters of experts that fewer replicas hold
  double matrix_elements = 0;  // trained parameters in matrices of layers, where Muon steps; else 0
  LowRankState low_rank = {};  // of matrices of layers, where gradients are projected; else 0
  double frozen_elements = 0;  // parameters only held: no gradient, no optimizer state
  double bytes = 0;            // bytes of all parameters, in the formats that they are kept in
  double copy_bytes = 0;       // bytes of copies in other formats
  double gathered_bytes_per_element = 0;
  double tied_elements = 0;            // size of the word embedding that two stages hold and keep equal; 0: none
  double tensor_partial_elements = 0;  // gradients still partial over tensor ranks after a backward pass
  int tensors = 0;                     // number of tensors that the elements belong to
  TensorCounts counts;
  HeldParameters buffers = {};  // elements of the buffers of divided weights, each large enough for one of its weights

  HeldParameters held() const { return {elements - expert_elements, expert_elements, counts}; }
};

// Pairs of stages that sum the gradients of a word embedding that is also the output projection: holders of the part
// with the words (words_part()) and of the last part, in turn. A stage that holds both parts has one copy and nothing
// to sum.
std::vector<std::array<std::int32_t, 2>> tied_stages(const Placement& placement, int words);

// Contents of one stage, independent of its hardware.
struct StageContents {
  StageContents(const Job& job, const ShardedBlocks& blocks, int stage);
  // Takes chunks whose blocks are set and whose parameters are not.
  StageContents(const Job& job, const ShardedBlocks& blocks, int stage, std::vector<ChunkPlan> of_chunks);

  int stage = 0;
  std::vector<ChunkPlan> chunks;
  StageParameters parameters;
};

// Work of the replicas of one class on one stage, with passes priced on their hardware: enough to build any rank of
// these replicas.
struct StagePlan : StageContents {
  // `classes`: all classes of the job; `own`: the index of these replicas' class. The order of passes is not set.
  StagePlan(const Job& job, const ShardedBlocks& blocks, std::span<const ReplicaClass> classes, int stage, int own);

  int replica_class = 0;
  ReplicaClass replicas;
  double ranks = 0;  // number of ranks that run the plan: the teams of all replicas
  StageCosts costs;
  std::vector<Pass> order;
  Picoseconds pass_host = 0;                               // the host's work at the start of a pass
  std::shared_ptr<const std::vector<BlockBodies>> bodies;  // indexed by BlockId; equal stages share them

  // Number of GPUs of these ranks; fewer than ranks if several ranks share a GPU.
  double gpus() const { return ranks / costs.hardware->hardware.spec.ranks_per_gpu; }
  // Number of microbatches that a chunk runs: if several stages hold a part of the model, each of them runs some.
  int microbatches_of(int chunk) const;
  const BlockBodies& bodies_of(BlockId block) const { return (*bodies)[static_cast<std::size_t>(block)]; }
  FoldedBody folded(const ChunkPlan& chunk, Pass::Kind kind) const;
  // Folds part of a pass: the blocks [first, last) of the chunk in the order of the pass. The consecutive parts of a
  // pass make up the pass.
  FoldedBody folded_part(const ChunkPlan& chunk, Pass::Kind kind, int first, int last) const;
};

// The place of a block among the blocks [first, last) of a pass of a plan's chunk, which make up a pass or a part of a
// pass.
RowPlace place_in_row(const StagePlan& plan, const ChunkPlan& chunk, Pass::Kind kind, int first, int last, int index);

// Folds the blocks [first, last) of a pass of a chunk; `fold_of(block, kind, place)` folds one. `pass_host`: the host's
// work at the start of the pass.
template <class FoldOf>
FoldedBody fold_blocks(const StagePlan& plan, const ChunkPlan& chunk, Pass::Kind kind, int first, int last,
                       Picoseconds pass_host, const FoldOf& fold_of) {
  FoldedBody out;
  if (first == 0) out.host = out.lead = pass_host;
  for (int i = first; i < last; ++i) {
    append(out, fold_of(chunk.in_pass(i, kind), kind, place_in_row(plan, chunk, kind, first, last, i)));
  }
  return out;
}

// Plans all stages: one plan per stage and class of replicas, stage after stage, and class after class within a stage.
// So the plan of class c on stage s of a job of C classes has index s * C + c. Plans on the same hardware share priced
// bodies. `clock_limits`: for each plan, the share of the full clock that its devices are set to, unless their nodes
// are set lower.
std::vector<StagePlan> plan_stages(const Job& job, const ShardedBlocks& blocks,
                                   std::span<const double> clock_limits = {});
// Plans all stages with bodies that other jobs share: BodyCache says what these jobs must have in common. Stages of
// their own shape use the bodies of their blocks (ShapedStage).
std::vector<StagePlan> plan_stages(const Job& job, const ShardedBlocks& blocks, std::span<const double> clock_limits,
                                   BodyCache& cache);

// Sets the order of passes of every plan. The plans must be priced.
void order_passes(const Job& job, const ShardedBlocks& blocks, std::span<StagePlan> plans);

// Number of classes of a job's plans, and the plans of one stage, class after class.
int classes_of(std::span<const StagePlan> plans);
std::span<const StagePlan> plans_of(std::span<const StagePlan> plans, int stage);

}  // namespace mirfak
