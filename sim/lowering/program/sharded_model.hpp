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
  std::string name;  // name in annotations; unique in a model
  int count = 1;     // number of equal blocks in a row
  OperatorGraph graph;
};

// Seconds that the consecutive steps of one block take on a device.
struct ShardedTime {
  double kernels_s = 0;
  double collectives_s = 0;
  double entry_s = 0;  // once before all blocks of a row
};

struct ShardedBlock {
  std::string name;
  int count = 1;
  std::vector<Annotation> annotations;
  PartitionedBlock block;
  // Collectives before a block whose first stream is annotated differently from the way the previous block leaves the
  // stream: they bring the stream there, and its gradient back.
  std::vector<BlockStep> entry;
  WeightUpdate update;
  BlockMemory memory;
  double forward_flop = 0;  // on one device, padding included
  double backward_flop = 0;
  double padding_flop = 0;  // FLOPs of padding, forward and backward
  std::optional<ShardedTime> time;
};

// A model in which every tensor is placed by annotations and completion, as one device of the mesh executes it: one
// forward and backward pass of the whole batch, followed by the sums of gradients.
struct ShardedModel {
  DeviceMesh mesh;
  std::vector<ShardedBlock> blocks;

  double flop() const;
  double padding_flop() const;
  double parameter_bytes() const;
  double gradient_bytes() const;
  double state_elements() const;  // elements that the optimizer steps on
  // Bytes of parameters, gradients, everything that all blocks keep, and the most that one block takes in addition;
  // without the optimizer's state.
  double memory_bytes() const;
  std::optional<double> time_s() const;
};

// Shards a model. A stream without annotation enters a block as the previous block left it, and leaves a block as it
// entered. An annotation may name a tensor of every block that has one, "w1", or of one block, "layer.w1". Error(input)
// for a tensor that no block has, with the nearest name, and as annotation_of() and complete() say. If a cluster is
// given, device d of the mesh (its last axis fastest) is device d of the cluster: Error(infeasible) if the cluster has
// fewer devices.
ShardedModel shard_model(std::vector<NamedBlock> blocks, const DeviceMesh& mesh, std::span<const AnnotationText> texts,
                         const std::optional<Cluster>& cluster);

// FLOPs of a kernel step on one device, as block::flop counts them, including the padding of axes that do not divide
// evenly.
double local_flop(const OperatorGraph& graph, const BlockStep& step);

}  // namespace mirfak
