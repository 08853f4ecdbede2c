// Between stages of different shape, the messages of a rank leave at once: over the scale-up link to ranks of its
// domain, and over its share of the node's ports to all others. A transfer ends when its slowest rank has finished. If
// all tensor ranks of the receiving stage need the same data, the senders send it whole, or in parts that the receivers
// gather, whichever takes less time (Alpa's local all-gather), unless strategy.scatter_gather chooses one.

#include "program/transfer_cost.hpp"

#include "program/job_network.hpp"
#include "program/replica_placement.hpp"
#include "sharding/axis_rules.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

using Pieces = CrossMesh::Pieces;

// The ranks of two stages of different shape.
class CrossTransfer {
 public:
  CrossTransfer(const CrossMesh& mesh, const TransferEnd& from, const TransferEnd& to)
      : mesh_(mesh), from_(from), to_(to) {}

  TransferCost price(Pieces pieces, bool divided) const {
    TransferCost out;
    out.bytes = from_.stream_bytes / mesh_.messages_in_sender(pieces, divided);
    out.senders = mesh_.senders();
    out.receivers = mesh_.receivers();
    Slowest slowest;
    for (int group = 0; group < mesh_.groups(); ++group) {
      const std::vector<int> senders = ranks_of(from_, mesh_.senders_of(group));
      const std::vector<int> receivers = ranks_of(to_, mesh_.receivers_of(group));
      for (const int rank : senders) add(from_, rank, receivers, out.bytes, slowest.sender, slowest);
      for (const int rank : receivers) add(to_, rank, senders, out.bytes, slowest.receiver, slowest);
    }
    out.seconds = slowest.seconds;
    out.on_network = slowest.sender > 0;
    if (slowest.transfer_s > 0) {
      out.bytes_per_s = slowest.sender / slowest.transfer_s;
      out.received_bytes_per_s = slowest.receiver / slowest.transfer_s;
    }
    if (pieces == Pieces::parts && !divided && to_.job.strategy.tensor > 1) {
      const double whole = to_.stream_bytes;
      out.gathered_bytes = whole;
      out.seconds += to_.costs.communication.price(CollectiveKind::all_gather, whole, to_.costs.tensor_group).seconds;
    }
    return out;
  }

 private:
  struct Slowest {
    double seconds = 0;
    double transfer_s = 0;  // part of `seconds` after the latency
    double sender = 0;      // most bytes of a sender on the network
    double receiver = 0;
  };

  static std::vector<int> ranks_of(const TransferEnd& stage, const std::vector<CrossMesh::Place>& places) {
    std::vector<int> out;
    for (const CrossMesh::Place& place : places) {
      out.push_back(stage.job.rank_of(stage.stage, place.data, place.tensor));
    }
    return out;
  }

  void add(const TransferEnd& stage, int rank, const std::vector<int>& others, double bytes, double& on_network,
           Slowest& slowest) const {
    double within = 0;
    double outside = 0;
    GroupInside inside;
    for (const int other : others) {
      const bool near = network_place(stage.job, rank).domain == network_place(stage.job, other).domain;
      const bool first = within + outside == 0;
      (near ? within : outside) += bytes;
      const GroupInside own = communication_group(stage.job, std::array{rank, other}).inside;
      inside = first ? own : slower_of(inside, own);
    }
    on_network = std::max(on_network, outside);
    for (const bool near : {true, false}) {
      if ((near ? within : outside) <= 0) continue;
      const CommunicationCost cost = stage.costs.communication.price_send(near ? within : outside, near, inside);
      if (cost.seconds <= slowest.seconds) continue;
      slowest.seconds = cost.seconds;
      slowest.transfer_s = cost.transfer_s;
    }
  }

  const CrossMesh& mesh_;
  const TransferEnd& from_;
  const TransferEnd& to_;
};

TransferCost cheaper(const CrossTransfer& transfer, const Strategy& strategy) {
  if (strategy.sequence_parallel) return transfer.price(Pieces::parts, true);
  if (strategy.scatter_gather == ScatterGather::on) return transfer.price(Pieces::parts, false);
  const TransferCost whole = transfer.price(Pieces::whole, false);
  if (strategy.scatter_gather == ScatterGather::off) return whole;
  const TransferCost parts = transfer.price(Pieces::parts, false);
  return parts.seconds < whole.seconds ? parts : whole;
}

// Cost between stages of one shape: each rank sends to the rank in its place.
TransferCost between_alike(const TransferEnd& from, const TransferEnd& to) {
  const Job& job = from.job;
  const int sender = job.rank_of(from.stage, from.replica, 0);
  const int receiver = job.rank_of(to.stage, to.replica, 0);
  const bool same_domain = network_place(job, sender).domain == network_place(job, receiver).domain;
  const bool scatter = scatters_transfers(job.strategy, job.framework);

  const GroupInside inside = communication_group(job, std::array{sender, receiver}).inside;
  TransferCost out;
  out.bytes = from.stream_bytes / (scatter ? job.strategy.tensor : 1);
  // Both ends must carry the transfer: the slower end decides.
  for (const TransferEnd* end : {&from, &to}) {
    const CommunicationCost cost = end->costs.communication.price_send(out.bytes, same_domain, inside);
    if (cost.seconds <= out.seconds) continue;
    out.seconds = cost.seconds;
    out.bytes_per_s = out.received_bytes_per_s = cost.bytes_per_s;
    out.on_network = cost.on_network;
  }
  if (scatter) {
    out.gathered_bytes = from.stream_bytes;
    out.seconds +=
        to.costs.communication.price(CollectiveKind::all_gather, from.stream_bytes, to.costs.tensor_group).seconds;
  }
  return out;
}

}  // namespace

CrossMesh cross_mesh(const Strategy& strategy, int from, int to) {
  return {mesh_of(strategy.at(from)), mesh_of(strategy.at(to))};
}

TransferCost transfer_cost(const TransferEnd& from, const TransferEnd& to) {
  const CrossMesh mesh(mesh_of(from.job.strategy), mesh_of(to.job.strategy));
  return mesh.same() ? between_alike(from, to) : cheaper(CrossTransfer(mesh, from, to), from.job.strategy);
}

TransferCost transfer_cost(const Job& job, std::span<const StagePlan> plans, const ShardedBlocks& blocks,
                           const StageTransfer& transfer) {
  const int first = placed_as(job, plans[static_cast<std::size_t>(transfer.replica_class)].replicas);
  const auto end_of = [&](int stage) -> TransferEnd {
    const StagePlan& plan = plans_of(plans, stage)[static_cast<std::size_t>(transfer.replica_class)];
    return {stage, job_at(job, blocks, stage), plan.costs, first, blocks.at(stage).stream_bytes(transfer.stream)};
  };
  return transfer_cost(end_of(transfer.from), end_of(transfer.to));
}

std::vector<BlockId> streams_leaving(const StagePlan& plan, const ShardedBlocks& blocks) {
  const ShardedBlocks& own = blocks.at(plan.stage);
  std::vector<BlockId> out;
  for (const ChunkPlan& chunk : plan.chunks) {
    if (chunk.head) continue;
    const auto as_large = [&](BlockId other) { return own.stream_bytes(other) == own.stream_bytes(chunk.leaving); };
    if (std::none_of(out.begin(), out.end(), as_large)) out.push_back(chunk.leaving);
  }
  return out;
}

}  // namespace mirfak
