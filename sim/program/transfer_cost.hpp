#pragma once

#include "program/stage_plan.hpp"
#include "sharding/cross_mesh.hpp"

#include <span>
#include <vector>

namespace mirfak {

// What one transfer of activations (or gradients) from a stage to another costs, between the ranks of one class of
// replicas. Between stages of one shape each rank sends to the one in its place. Else some ranks of the one send to
// some of the other, each the same to each (sharding/cross_mesh.hpp), all at once.
struct TransferCost {
  double bytes = 0;                 // of a message
  int senders = 1;                  // of a receiver
  int receivers = 1;                // of a sender
  double seconds = 0;               // with the all-gather at the receivers where these are sent parts
  double bytes_per_s = 0;           // of a sender
  double received_bytes_per_s = 0;  // of a receiver
  bool on_network = false;
  double gathered_bytes = 0;  // that the receivers' tensor ranks make whole of their parts; 0: each has it all

  double sent() const { return receivers * bytes; }    // by one rank
  double received() const { return senders * bytes; }  // ... of the other stage
};

// One end of a transfer: the replicas of a class on a stage.
struct TransferEnd {
  int stage = 0;
  const Job& job;  // as the stage sees it
  const StageCosts& costs;
  int replica = 0;          // the first of the class
  double stream_bytes = 0;  // of one microbatch on one of its devices
};
TransferCost transfer_cost(const TransferEnd& from, const TransferEnd& to);

// Between two stages of a job.
struct StageTransfer {
  int from = 0;
  int to = 0;
  int replica_class = 0;
  BlockId stream = ShardedBlocks::kEmbedding;  // behind which block the model parts (ChunkPlan::leaving)
};
TransferCost transfer_cost(const Job& job, std::span<const StagePlan> plans, const ShardedBlocks& blocks,
                           const StageTransfer& transfer);
// The streams that leave a stage's chunks for others, of equally large ones the first.
std::vector<BlockId> streams_leaving(const StagePlan& plan, const ShardedBlocks& blocks);

// Who sends to whom.
CrossMesh cross_mesh(const Strategy& strategy, int from, int to);

}  // namespace mirfak
