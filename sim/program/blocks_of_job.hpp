#pragma once

#include "cost/collective_model.hpp"
#include "cost/kernel_model.hpp"
#include "program/body.hpp"
#include "program/job.hpp"
#include "sharding/partition.hpp"

#include <vector>

namespace mirfak {

enum class BlockKind : std::uint8_t { embedding, layer, head };

// The three blocks of a job, sharded: what every stage's passes are made of. Independent of the hardware.
struct ShardedBlocks {
  PartitionedBlock embedding;
  PartitionedBlock layer;
  PartitionedBlock head;

  const PartitionedBlock& of(BlockKind kind) const;
};
ShardedBlocks shard_blocks(const Job& job);

// The kernel and communication models of one stage.
struct StageCosts {
  StageCosts(const Job& job, int stage);

  const NodeGroup& hardware;
  KernelModel kernels;
  CollectiveModel communication;
  CommunicationGroup tensor_group;
  CommunicationGroup data_group;
};

// One block's passes on a stage's hardware. Backward includes the recomputation before it.
struct BlockBodies {
  Body forward;
  Body backward;
  FoldedBody folded_forward;
  FoldedBody folded_backward;
};
BlockBodies price_block(const Job& job, const PartitionedBlock& block, const StageCosts& costs);

}  // namespace mirfak
