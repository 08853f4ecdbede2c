#pragma once

#include "cluster/cluster.hpp"
#include "cost/range_widths.hpp"
#include "model/model_spec.hpp"
#include "sharding/axis_rules.hpp"
#include "strategy/framework.hpp"
#include "strategy/precision_recipe.hpp"
#include "strategy/strategy.hpp"
#include "strategy/training.hpp"

#include <memory>
#include <string>
#include <vector>

namespace mirfak {

// The nodes of a job that has a part of a cluster: rank r of the job runs on device `devices[r]` of `whole`; ascending.
struct ClusterPart {
  Cluster whole;
  std::vector<int> devices;
};

// All inputs that decide an iteration: the trained model, the hardware, and the strategy. The strategy is valid for the
// other members (strategy/rules.hpp).
struct Job {
  ModelSpec model;
  Cluster cluster;
  TrainingSpec training;
  Strategy strategy;
  Framework framework;
  RangeWidths ranges = {};  // errors of predictions; they do not change a prediction
  // Null: the job has `cluster` for itself.
  std::shared_ptr<const ClusterPart> part = {};

  const PrecisionRecipe& recipe() const;  // Error(input) unless training.precision is the name of a recipe
  Precision precision() const;            // precision of activations, and of products outside linear layers
  Precision product_precision() const;    // precision of linear layers of transformer layers
  // Generations of fused attention that the framework runs in the training's number formats, the preferred one first.
  std::vector<std::string> attention_kernels() const;

  // Global number of a rank. Ranks are numbered as in Megatron Core: tensor fastest, then context, then as
  // strategy.rank_order says. Rank r runs on device r of the cluster. `member`: place among the ranks that run a
  // microbatch of a stage together, context * strategy.tensor + tensor.
  int rank_of(int stage, int data, int member) const {
    if (strategy.rank_order == RankOrder::data_last) {
      return (data * strategy.pipeline + stage) * strategy.team() + member;
    }
    const StageShape shape = strategy.shape_of(stage);
    return strategy.first_rank(stage) + data * shape.tensor * strategy.context + member;
  }
  int first_rank(int stage) const { return rank_of(stage, 0, 0); }  // lowest number of a stage's ranks
  int last_rank(int stage) const;                                   // highest number of a stage's ranks
  // The first rank of each run of `neighbours` consecutive places in a data-parallel group, which counts context ranks
  // too, for a rank in this run. All stages must be alike.
  int first_neighbour(int rank, int neighbours) const;
  // The cluster whose links between switches the job uses, and the device of a rank in that cluster.
  const Cluster& network() const { return part ? part->whole : cluster; }
  int device_of(int rank) const { return part ? part->devices[static_cast<std::size_t>(rank)] : rank; }
  // The job as one of its stages sees it, where stages have shapes of their own (Strategy::at). Functions below that
  // describe a stage, and functions elsewhere that give a stage's blocks, groups, prices and memory, must be called
  // with the job as that stage sees it.
  Job at(int stage) const;
  // The ranks that differ from the first rank of a stage's replica `data` only in their places on these mesh axes; on
  // the data axis, the ranks of the whole stage.
  std::vector<int> group_over(int stage, MeshAxisSet axes, int data = 0) const;
  std::vector<int> tensor_group(int stage, int data = 0) const;   // ranks of the first context rank of a replica
  std::vector<int> context_group(int stage, int data = 0) const;  // ranks of tensor rank 0 of a replica
  std::vector<int> heads_group(int stage, int data = 0) const;    // those of these that divide heads with rank 0
  std::vector<int> data_group(int stage) const;                   // tensor rank 0: all that hold its parameters
  std::vector<int> expert_data_group(int stage) const;            // data group: ranks with the first one's experts
  std::vector<int> shard_group(int stage, int data = 0) const;    // data group: ranks that share a sharded copy
  std::vector<int> across_group(int stage) const;                 // data group: ranks with the first one's shard
  // The first `size` of each run of consecutive places in a data group that a replica's first rank lies in.
  std::vector<int> neighbours(int stage, int data, int size) const;
  // Data group: every `apart`-th place from the first on.
  std::vector<int> spread(int stage, int apart) const;
  // Ranks that hold the same experts as the first rank of a replica: the `size` neighbours among them that it is one
  // of, or every `apart`-th of them from the first on. Without context ranks.
  std::vector<int> expert_neighbours(int stage, int data, int size) const;
  std::vector<int> expert_spread(int stage, int apart) const;
  // Number of the first places in a data group that lie in one node.
  int places_in_node() const;
  // Sizes of the groups of neighbours in a data group that communicate without the others: ranks that share a sharded
  // copy, ranks that share a second copy, ranks of one node that exchange gradients, ranks that divide weights. Groups
  // of all are not listed.
  std::vector<int> groups_apart() const;

  // The nodes that a replica of a stage runs on. Error(infeasible) if its ranks are on nodes of several types: the
  // ranks run every pass together.
  const NodeGroup& hardware_of(int stage, int data) const;
};

// True if transfers between stages overlap with passes, so that a stage's next pass does not wait for the stage's
// sends.
bool overlaps_transfers(const Framework& framework, ScheduleId schedule);

// True if nodes of two entries of a cluster are the same: type, GPUs used, links and network ports.
bool same_hardware(const NodeGroup& a, const NodeGroup& b);

// Bytes per parameter of the gradients that are kept until they are reduced: by training.gradient_precision, or by the
// framework's habit for the job's precision.
double gradient_bytes(const Job& job);
// Bytes per parameter of what is sent to reduce these gradients.
double reduced_gradient_bytes(const Job& job);

}  // namespace mirfak
