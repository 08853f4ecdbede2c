#pragma once

#include "cost/collective_model.hpp"
#include "cost/kernel_model.hpp"
#include "program/body.hpp"
#include "program/job.hpp"
#include "program/job_layers.hpp"
#include "program/low_rank_step.hpp"
#include "program/orthogonalization.hpp"
#include "program/part_bodies.hpp"
#include "program/replica_classes.hpp"
#include "program/split_backward.hpp"
#include "schedule/schedule.hpp"
#include "sharding/partition.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace mirfak {

// Index into ShardedBlocks::all.
using BlockId = int;

class BodyCache;
struct ShapedStage;

// A forward pass of a microbatch that no backward pass follows (training.preferences), after the microbatch's own: its
// blocks, an embedding, a layer of each kind and a head.
struct ForwardOnlyPass {
  BlockId embedding = 0;
  BlockId head = 0;
  bool own_parameters = false;  // it is of a frozen copy of the model; else of the parameters that are trained
};

// The blocks of a job, sharded: every stage's passes consist of them. They do not depend on the hardware.
struct ShardedBlocks {
  // The embedding, a layer of each kind of the model, the module of multi-token prediction if the model has one, the
  // head; then those of ForwardOnlyPass. Where only some layers are recomputed, a second block follows that of each
  // kind of layer: the same layer without recomputation. Except for the prediction module, such blocks also serve jobs
  // that recompute all layers or none.
  std::vector<PartitionedBlock> all;
  DeviceMesh mesh;  // that they are sharded over; jobs with other numbers of replicas may share them
  bool partly_recomputed = false;
  bool halves = false;  // backward passes are also priced and measured in halves: the schedule splits them
  bool pairs = false;   // backward passes also run in parallel with forward passes, step by step
  std::vector<ForwardOnlyPass> forward_only;  // in the order in which they run; passes may have the same blocks
  int forward_only_blocks = 0;                // blocks at the end of `all` that only these passes have
  // Rows and columns of the weight gradients of each block's products, each shape once.
  std::vector<std::vector<std::pair<double, double>>> weight_gradients;
  // One entry for each pipeline stage, where stages have shapes of their own; stages of one shape share their entry.
  // Else empty.
  std::vector<std::shared_ptr<const ShapedStage>> stages;

  // The blocks as sharded on one stage.
  const ShardedBlocks& at(int stage) const;

  static constexpr BlockId kEmbedding = 0;
  // Block of a layer. `kind`: an index of job_layers(). `recomputed`: recomputed as the strategy says, else not at all.
  BlockId layer_id(std::size_t kind, bool recomputed = true) const {
    const auto place = static_cast<BlockId>(kind);
    return partly_recomputed ? 1 + 2 * place + (recomputed ? 0 : 1) : 1 + place;
  }
  // Block of the layer of a pass that only goes forward, for the layer whose own block is `id`.
  BlockId layer_of(const ForwardOnlyPass& pass, BlockId id) const {
    return pass.embedding + 1 + (partly_recomputed ? (id - 1) / 2 : id - 1);
  }
  // True if the block stands for layers that are not recomputed, in a job that recomputes other layers.
  bool is_kept(BlockId id) const { return partly_recomputed && id > kEmbedding && id < head_id() && id % 2 == 0; }
  BlockId prediction_id() const { return head_id() - 1; }  // for a model that has prediction modules
  BlockId head_id() const { return static_cast<BlockId>(all.size()) - 1 - forward_only_blocks; }
  // True for embeddings and heads.
  bool is_end(BlockId id) const {
    return id == kEmbedding || id == head_id() ||
           std::any_of(forward_only.begin(), forward_only.end(),
                       [&](const ForwardOnlyPass& pass) { return id == pass.embedding || id == pass.head; });
  }
  const PartitionedBlock& of(BlockId id) const { return all[static_cast<std::size_t>(id)]; }
  const PartitionedBlock& embedding() const { return all.front(); }
  const PartitionedBlock& layer(std::size_t kind = 0) const { return of(layer_id(kind)); }
  const PartitionedBlock& head() const { return of(head_id()); }

  // Bytes on one device of the streams that leave the embedding or a layer: two stages exchange them if the model is
  // divided there.
  double stream_bytes(BlockId id) const { return of(id).residual_bytes; }
};
ShardedBlocks shard_blocks(const Job& job);

// A stage of its own shape: the job as the stage sees it, and the stage's blocks. Jobs that shard the blocks alike may
// share the blocks and their prices.
struct ShapedStage {
  Job job;
  std::shared_ptr<const ShardedBlocks> blocks;
  std::shared_ptr<BodyCache> bodies;
};
// The job as one stage sees it; `blocks` are the job's.
const Job& job_at(const Job& job, const ShardedBlocks& blocks, int stage);
// True if the stream that a block of a stage leaves has a gradient, which the stage after it sends back: nothing goes
// back into a frozen tower.
bool gradients_return(const Job& job, const ShardedBlocks& blocks, int stage, BlockId leaving);
// Shards one layer that is not recomputed: equal to the blocks for `recomputed` false, and to those of jobs that
// recompute nothing.
PartitionedBlock shard_kept_layer(const Job& job, const JobLayer& layer);
// True if the host waits for the device before it issues this operator's forward pass. Only the device knows where rows
// go, and the host sets up their exchange; the constant of a clamp is copied after the work that the device still has
// to do; the length of the longest sequence is read from the device.
bool host_waits_before(const Job& job, const Operator& op);
// The activations of a layer that are recomputed under the job's strategy.
std::vector<TensorId> dropped_activations(const Job& job, const PartitionedBlock& layer);
struct BlockBodies;
// Marks the forward steps of `kept` that would run again if the layer were recomputed under the job's strategy; empty:
// no steps.
// The marks are those of the steps of `bodies.forward`, the block's bodies.
std::vector<bool> steps_run_again(const Job& job, const PartitionedBlock& kept, const BlockBodies& bodies);

// The kernel and communication models of the replicas of one class (program/replica_classes.hpp) on one stage.
struct StageCosts {
  // `classes`: all classes of the job; `own`: the index of these replicas' class. `same_stage`: costs of another class
  // on this stage, if they exist already; both classes have the same groups of all replicas.
  StageCosts(const Job& job, std::span<const ReplicaClass> classes, int stage, int own,
             const StageCosts* same_stage = nullptr);

  const NodeGroup* hardware;  // one of the job's cluster's node groups
  KernelModel kernels;
  CollectiveModel communication;
  std::vector<CollectiveModel> others;  // for the stage's replicas on other hardware
  // Groups that communicate inside passes, priced as if each were alone on the network (shared_links.hpp lets them
  // share it).
  CommunicationGroup tensor_group;
  CommunicationGroup context_group;
  CommunicationGroup heads_group;          // context ranks that divide heads among them
  CommunicationGroup whole_context_group;  // all context ranks, in both directions
  CommunicationGroup expert_group;         // ranks that divide experts among them
  bool passes_cross_leaves = false;        // one of these groups is on several leaves of the fabric
  CommunicationGroup data_group;
  CommunicationGroup shard_group;        // ranks of the data group that share one sharded copy of the state (ZeRO)
  CommunicationGroup expert_data_group;  // ranks of the data group that hold the same experts
  CommunicationGroup across_group;       // ranks of the data group that hold the same shard
  // Groups of ZeRO++: ranks of the data group that share a second copy of the parameters, those in one node, and those
  // in the same place of each node. Alone where the strategy has no such groups.
  CommunicationGroup second_group;
  CommunicationGroup node_group;
  CommunicationGroup between_nodes_group;
  // Groups of divided weights (weight_exchange.hpp). Alone where the strategy divides none.
  CommunicationGroup weights_group;
  CommunicationGroup weight_copies_group;
  CommunicationGroup expert_weights_group;
  CommunicationGroup expert_weight_copies_group;

  // Seconds that a piece of the host's work takes on this hardware if the framework's file gives `seconds` for it.
  double host_seconds(double seconds) const { return seconds * hardware->hardware.spec.time_factors().host; }
  // The group over mesh axes that blocks communicate over: tensor, axes of context ranks, or the axes of experts.
  const CommunicationGroup& group_over(MeshAxisSet axes) const;
};

// True if a step moves rows to experts or back: the rows are sparse in experts.
bool carries_rows(const PartitionedBlock& block, const BlockStep& step);
// Prices a collective step of a block.
CommunicationCost price_collective_step(const Job& job, const PartitionedBlock& block, const BlockStep& step,
                                        const StageCosts& costs);
Explanation explain_collective_step(const Job& job, const PartitionedBlock& block, const BlockStep& step,
                                    const StageCosts& costs);

// Bodies of one block's passes on a stage's hardware. Backward includes the recomputation before it.
struct BlockBodies {
  Body forward;
  Body backward;
  FoldedBody folded_forward;
  FoldedBody folded_backward;
  // The two halves of backward (split_backward.hpp), where the caller asks for halves; else empty.
  SplitBody split;
  FoldedBody folded_backward_input;
  FoldedBody folded_backward_weight;
  // The bodies at all places of a row, if the block's microbatch runs as two parts. `forward` and `backward` are
  // then those inside of a row, which neither begin nor end it; no row of blocks takes less time than they do together.
  RowBodies forward_row;
  RowBodies backward_row;
  FoldedBody folded_update;             // once an iteration, after the optimizer step: narrow copies of parameters
  Orthogonalization orthogonalization;  // also once an iteration, where Muon steps
  LowRankStep low_rank;                 // also once an iteration, where gradients are projected
  double model_flop = 0;                // FLOPs of one microbatch, forward and backward by convention: no recomputation
  double visible_flop = 0;              // `model_flop` without the masked part of attention, where kernels skip it
  double settled_clock = 1;             // share of the full clock that the bodies are priced at, unless a clock is set
};
// `place`: counts where a microbatch runs as two parts.
const Body& body_of(const BlockBodies& block, Pass::Kind kind, RowPlace place = {true, true});
const FoldedBody& folded_pass(const BlockBodies& block, Pass::Kind kind, RowPlace place = {true, true});
const RowBodies& row_of(const BlockBodies& block, Pass::Kind kind);
// Returns the index of the step of PartitionedBlock::forward that each step of `forward` comes from.
std::vector<int> forward_origins(const BlockBodies& block);
// Prices the passes of a block. `halves`: prices the two halves of backward as well.
BlockBodies price_block(const Job& job, const PartitionedBlock& block, const StageCosts& costs, bool halves = false);

}  // namespace mirfak
