#pragma once

#include "cost/collective_model.hpp"
#include "cost/kernel_model.hpp"
#include "program/body.hpp"
#include "program/job.hpp"
#include "program/job_layers.hpp"
#include "program/orthogonalization.hpp"
#include "program/replica_classes.hpp"
#include "program/split_backward.hpp"
#include "schedule/schedule.hpp"
#include "sharding/partition.hpp"

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace mirfak {

// An index into ShardedBlocks::all.
using BlockId = int;

class BodyCache;
struct ShapedStage;

// The blocks of a job, sharded: what every stage's passes are made of. Independent of the hardware.
struct ShardedBlocks {
  // The embedding, a layer of each kind of the model, the module of multi-token prediction if it has one, the head.
  // Where only some layers are recomputed, each kind of layer has a second block behind it that is not. Such blocks
  // serve jobs that recompute all layers or none as well, but for the prediction module.
  std::vector<PartitionedBlock> all;
  bool partly_recomputed = false;
  bool halves = false;  // backward passes are priced and measured in two as well: the job's schedule splits them
  bool pairs = false;   // ... and run beside forward passes, step by step
  // Of each block, the rows and columns of its products' weight gradients, each shape once.
  std::vector<std::vector<std::pair<double, double>>> weight_gradients;
  // Where pipeline stages have shapes of their own: of each stage; stages of one shape share it. Else empty.
  std::vector<std::shared_ptr<const ShapedStage>> stages;

  // As sharded on one stage.
  const ShardedBlocks& at(int stage) const;

  static constexpr BlockId kEmbedding = 0;
  // `kind`: an index of job_layers(). `recomputed`: as the strategy says, else not at all.
  BlockId layer_id(std::size_t kind, bool recomputed = true) const {
    const auto place = static_cast<BlockId>(kind);
    return partly_recomputed ? 1 + 2 * place + (recomputed ? 0 : 1) : 1 + place;
  }
  // Whether it stands for layers that are not recomputed, beside some that are.
  bool is_kept(BlockId id) const { return partly_recomputed && id > kEmbedding && id < head_id() && id % 2 == 0; }
  BlockId prediction_id() const { return head_id() - 1; }  // of a model that has such modules
  BlockId head_id() const { return static_cast<BlockId>(all.size()) - 1; }
  const PartitionedBlock& of(BlockId id) const { return all[static_cast<std::size_t>(id)]; }
  const PartitionedBlock& embedding() const { return all.front(); }
  const PartitionedBlock& layer(std::size_t kind = 0) const { return of(layer_id(kind)); }
  const PartitionedBlock& head() const { return all.back(); }

  // Bytes on one device of the streams behind the embedding or a layer: what stages exchange where they part there.
  double stream_bytes(BlockId id) const { return of(id).residual_bytes; }
};
ShardedBlocks shard_blocks(const Job& job);

// A stage of its own shape: the job as it sees it, and its blocks, which jobs that shard them alike may share, and so
// their prices.
struct ShapedStage {
  Job job;
  std::shared_ptr<const ShardedBlocks> blocks;
  std::shared_ptr<BodyCache> bodies;
};
// The job that `blocks` are of, as one stage sees it.
const Job& job_at(const Job& job, const ShardedBlocks& blocks, int stage);
// One layer that is not recomputed: what blocks with `recomputed` false, or of jobs that recompute nothing, are.
PartitionedBlock shard_kept_layer(const Job& job, const JobLayer& layer);
// True if the host waits for the device before it issues this operator's forward pass: where rows go is known on the
// device only, and their exchange is the host's business; the constant of a clamp is copied behind what the device has
// to do before.
bool host_waits_before(const Job& job, const Operator& op);
// The activations of a layer that are recomputed as the job's strategy says.
std::vector<TensorId> dropped_activations(const Job& job, const PartitionedBlock& layer);
// Which of its forward steps would run again if it were recomputed as the job's strategy says; empty: none.
std::vector<bool> steps_run_again(const Job& job, const PartitionedBlock& kept);

// The kernel and communication models of the replicas of one class (program/replica_classes.hpp) on one stage.
struct StageCosts {
  // `classes`: all of the job; `own`: the index of these replicas' class. `same_stage`: of another class, if it is
  // there already; their groups of all replicas are the same.
  StageCosts(const Job& job, std::span<const ReplicaClass> classes, int stage, int own,
             const StageCosts* same_stage = nullptr);

  const NodeGroup* hardware;  // of the job's cluster
  KernelModel kernels;
  CollectiveModel communication;
  std::vector<CollectiveModel> others;  // of the stage's replicas on other hardware
  // Inside passes, priced as if they were alone on the network (shared_links.hpp has them share it).
  CommunicationGroup tensor_group;
  CommunicationGroup context_group;
  CommunicationGroup expert_group;   // ranks that divide experts among them
  bool passes_cross_leaves = false;  // whether one of these is on several leaves of the fabric
  CommunicationGroup data_group;
  CommunicationGroup shard_group;        // of the data group, the ranks that share one sharded copy of the state (ZeRO)
  CommunicationGroup expert_data_group;  // ... and those that hold the same experts
  CommunicationGroup across_group;       // ... and those that hold the same shard

  // What a piece of the host's work takes, which the framework's file says to take `seconds`.
  double host_seconds(double seconds) const { return seconds * hardware->hardware.spec.time_factors().host; }
  // Of mesh axes that blocks communicate over: tensor, context, or those of experts.
  const CommunicationGroup& group_over(MeshAxisSet axes) const;
};

// A collective step of a block.
CommunicationCost price_collective_step(const Job& job, const PartitionedBlock& block, const BlockStep& step,
                                        const StageCosts& costs);
Explanation explain_collective_step(const Job& job, const PartitionedBlock& block, const BlockStep& step,
                                    const StageCosts& costs);

// One block's passes on a stage's hardware. Backward includes the recomputation before it.
struct BlockBodies {
  Body forward;
  Body backward;
  FoldedBody folded_forward;
  FoldedBody folded_backward;
  // Backward in two (split_backward.hpp), where that is asked for; else empty.
  SplitBody split;
  FoldedBody folded_backward_input;
  FoldedBody folded_backward_weight;
  FoldedBody folded_update;             // once an iteration, behind the optimizer step: narrow copies of parameters
  Orthogonalization orthogonalization;  // once an iteration too, where Muon steps
  double model_flop = 0;                // of one microbatch, forward and backward by convention: no recomputation
  double visible_flop = 0;              // the same without what attention's masks hide, where kernels leave it out
  double settled_clock = 1;             // the share of the full clock that it is priced at, but for a clock that is set
};
const Body& body_of(const BlockBodies& block, Pass::Kind kind);
const FoldedBody& folded_pass(const BlockBodies& block, Pass::Kind kind);
// `halves`: backward in two as well.
BlockBodies price_block(const Job& job, const PartitionedBlock& block, const StageCosts& costs, bool halves = false);

}  // namespace mirfak
