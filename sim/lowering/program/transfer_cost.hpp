#pragma once

#include "program/stage_plan.hpp"
#include "sharding/cross_mesh.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Cost of one transfer of activations (or gradients) from one stage to another, between the ranks of one class of
// replicas. Between stages of one shape, each rank sends to the rank in its place. Otherwise some ranks of one stage
// send to some ranks of the other, with equal messages to each receiver (sharding/cross_mesh.hpp), all at once.
struct TransferCost {
  double bytes = 0;                 // size of a message
  int senders = 1;                  // senders to each receiver
  int receivers = 1;                // receivers from each sender
  double seconds = 0;               // including the all-gather at receivers that are sent parts
  double bytes_per_s = 0;           // rate of a sender
  double received_bytes_per_s = 0;  // rate of a receiver
  bool on_network = false;
  double gathered_bytes = 0;  // size of the whole that the receivers' tensor ranks gather from parts; 0: no gather

  double sent() const { return receivers * bytes; }    // bytes sent by one rank
  double received() const { return senders * bytes; }  // bytes received by one rank of the other stage
};

// One end of a transfer: the replicas of a class on a stage.
struct TransferEnd {
  int stage = 0;
  const Job& job;  // the job as the stage sees it
  const StageCosts& costs;
  int replica = 0;          // first replica of the class
  double stream_bytes = 0;  // size of one microbatch on one device of the stage
};
TransferCost transfer_cost(const TransferEnd& from, const TransferEnd& to);

// A transfer between two stages of a job.
struct StageTransfer {
  int from = 0;
  int to = 0;
  int replica_class = 0;
  BlockId stream = ShardedBlocks::kEmbedding;  // block after which the model is divided (ChunkPlan::leaving)
};
TransferCost transfer_cost(const Job& job, std::span<const StagePlan> plans, const ShardedBlocks& blocks,
                           const StageTransfer& transfer);
// The streams that leave a stage's chunks for other chunks; only the first of equally large streams.
std::vector<BlockId> streams_leaving(const StagePlan& plan, const ShardedBlocks& blocks);

// The senders and receivers between two stages.
CrossMesh cross_mesh(const Strategy& strategy, int from, int to);

}  // namespace mirfak
