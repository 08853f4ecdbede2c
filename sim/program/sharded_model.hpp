#pragma once

#include "cluster/cluster.hpp"
#include "program/block_memory.hpp"
#include "sharding/completion.hpp"
#include "sharding/weight_update.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// A block of a model before it is sharded, with its gradient operators.
struct NamedBlock {
  std::string name;  // as annotations call it; unique in a model
  int count = 1;     // in a row, all alike
  OperatorGraph graph;
};

// Seconds that the steps of one block take on a device, one behind the other.
struct ShardedTime {
  double kernels_s = 0;
  double collectives_s = 0;
  double entry_s = 0;  // once before all of a row
};

struct ShardedBlock {
  std::string name;
  int count = 1;
  std::vector<Annotation> annotations;
  PartitionedBlock block;
  // Before a block whose first stream is annotated otherwise than the block in front leaves it: what brings the stream
  // there, and its gradient back.
  std::vector<BlockStep> entry;
  WeightUpdate update;
  BlockMemory memory;
  double forward_flop = 0;  // on one device, padding included
  double backward_flop = 0;
  double padding_flop = 0;  // of both
  std::optional<ShardedTime> time;
};

// A model of which every tensor lies as annotations and completion say, as one device of the mesh executes it: one
// forward and backward pass of the whole batch, and the sums of gradients behind it.
struct ShardedModel {
  DeviceMesh mesh;
  std::vector<ShardedBlock> blocks;

  double flop() const;
  double padding_flop() const;
  double parameter_bytes() const;
  double gradient_bytes() const;
  double state_elements() const;  // that the optimizer steps on
  // Parameters, gradients, what all blocks keep, and the most that one takes beside it; not the optimizer's state.
  double memory_bytes() const;
  std::optional<double> time_s() const;
};

// A stream that nobody annotates lies, where it enters a block, as the block in front left it, and where it leaves a
// block as where it entered. Where annotations may say: "w1", of every block that has one, or "layer.w1". Error(input)
// for a tensor that no block has, with the nearest, and as annotation_of() and complete() say. Where a cluster is
// given, device d of the mesh (its last axis fastest) is device d of the cluster: Error(infeasible) where it has not as
// many.
ShardedModel shard_model(std::vector<NamedBlock> blocks, const DeviceMesh& mesh, std::span<const AnnotationText> texts,
                         const std::optional<Cluster>& cluster);

// FLOPs of a kernel step on one device, as block::flop counts them, with the padding of axes that do not divide.
double local_flop(const OperatorGraph& graph, const BlockStep& step);

}  // namespace mirfak
