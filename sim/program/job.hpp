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
#include <vector>

namespace mirfak {

// Where a job runs that has a part of a cluster's nodes: its rank r on device `devices[r]` of the whole, ascending.
struct ClusterPart {
  Cluster whole;
  std::vector<int> devices;
};

// Everything that decides an iteration: what is trained, where, and how. The strategy is valid for the rest
// (strategy/rules.hpp).
struct Job {
  ModelSpec model;
  Cluster cluster;
  TrainingSpec training;
  Strategy strategy;
  Framework framework;
  RangeWidths ranges = {};  // how far predictions are off; decides nothing
  // Null: it has `cluster` for itself.
  std::shared_ptr<const ClusterPart> part = {};

  const PrecisionRecipe& recipe() const;  // Error(input) unless training.precision is the name of one
  Precision precision() const;            // of activations, and of products outside linear layers
  Precision product_precision() const;    // of linear layers of transformer layers

  // Ranks are numbered as Megatron Core numbers them: tensor fastest, then context, then data, then pipeline. Rank r
  // runs on device r of the cluster. `member`: place among the ranks that run a microbatch of a stage together,
  // context * strategy.tensor + tensor.
  int rank_of(int stage, int data, int member) const {
    const StageShape shape = strategy.shape_of(stage);
    return strategy.first_rank(stage) + data * shape.tensor * strategy.context + member;
  }
  // Whose links between switches it uses, and where there a rank runs.
  const Cluster& network() const { return part ? part->whole : cluster; }
  int device_of(int rank) const { return part ? part->devices[static_cast<std::size_t>(rank)] : rank; }
  // The job as one of its stages sees it, where these have shapes of their own (Strategy::at). What is said of a stage
  // below, and of its blocks, groups, prices and memory elsewhere, is said by the job as this stage sees it.
  Job at(int stage) const;
  // The ranks that differ from the first rank of a stage's replica `data` in their places on these mesh axes only; of
  // the data axis those of the whole stage.
  std::vector<int> group_over(int stage, MeshAxisSet axes, int data = 0) const;
  std::vector<int> tensor_group(int stage, int data = 0) const;   // of the first context rank of a replica
  std::vector<int> context_group(int stage, int data = 0) const;  // of tensor rank 0 of a replica
  std::vector<int> data_group(int stage) const;                   // of tensor rank 0: all that hold its parameters
  std::vector<int> expert_data_group(int stage) const;            // ... those that hold the same experts as the first
  std::vector<int> shard_group(int stage, int data = 0) const;    // ... those that share a replica's sharded copy
  std::vector<int> across_group(int stage) const;                 // ... those that hold the same shard as the first

  // The nodes that a replica of a stage runs on. Error(infeasible) if its ranks are on nodes of several types: they run
  // every pass together.
  const NodeGroup& hardware_of(int stage, int data) const;
};

// Whether transfers between stages run beside passes, so that a stage's next pass does not wait for what it sends.
bool overlaps_transfers(const Framework& framework, ScheduleId schedule);

// Whether nodes of two entries of a cluster are the same: type, GPUs used, links and network ports.
bool same_hardware(const NodeGroup& a, const NodeGroup& b);

// Bytes per parameter of the gradients that are reduced: training.gradient_precision, or the framework's for the job's
// precision.
double gradient_bytes(const Job& job);

}  // namespace mirfak
