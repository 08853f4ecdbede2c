#pragma once

#include "program/stage_plan.hpp"
#include "sharding/cross_mesh.hpp"

#include <span>

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
TransferCost transfer_cost(const Job& job, std::span<const StagePlan> plans, const ShardedBlocks& blocks, int from,
                           int to, int replica_class);

// One end of a transfer.
struct TransferEnd {
  const StageCosts& costs;
  int rank = 0;
};
// Between stages of one shape. `residual_bytes`: of one microbatch's activations on one device.
TransferCost transfer_cost(const Job& job, const TransferEnd& from, const TransferEnd& to, double residual_bytes);

// Who sends to whom.
CrossMesh cross_mesh(const Strategy& strategy, int from, int to);

}  // namespace mirfak
