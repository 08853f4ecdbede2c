#include "program/communication_classes.hpp"

#include <fmt/format.h>

#include <utility>

namespace mirfak {

CommunicationClasses::CommunicationClasses(Program& program, RankGroups& groups, const Job& job,
                                           const ShardedBlocks& blocks, std::span<const StagePlan> stages)
    : program_(program),
      groups_(groups),
      job_(job),
      blocks_(blocks),
      stages_(stages),
      classes_(classes_of(stages)),
      // A transfer of no stage is never asked for.
      recent_(4 * stages.size(), Recent{EndOfTransfer{-1}, {}}) {}

Communication CommunicationClasses::transfer(const EndOfTransfer& of) {
  const auto plan = static_cast<std::size_t>(of.from * classes_ + of.replica_class);
  Recent& recent = recent_[4 * plan + (of.forward ? 2 : 0) + (of.sending ? 1 : 0)];
  if (recent.end != of) recent = {of, find_transfer(of)};
  return recent.found;
}

Communication CommunicationClasses::find_transfer(const EndOfTransfer& of) {
  EndOfTransfer end = of;
  end.stream = alike(of);
  if (const auto known = transfers_.find(end); known != transfers_.end()) return known->second;
  const TransferCost& cost = cost_of(end);
  TaskClass described;
  described.kind = TaskKind::transfer;
  described.name = fmt::format("{} {}", end.sending ? "send" : "receive", end.forward ? "activations" : "gradients");
  described.stage = end.sending ? end.from : end.to;
  described.grouping = groups_.between(GroupKind::transfer, end.from, end.to);
  described.bytes = end.sending ? cost.sent() : cost.received();
  described.work =
      TransferWork{cost.bytes, end.from, cost.senders, cost.receivers, cost.gathered_bytes, job_.precision()};
  described.activity_s[static_cast<std::size_t>(Activity::pipeline_communication)] = cost.seconds;
  if (cost.on_network) {
    described.flows = FlowPattern::transfer;
    described.network_bytes_per_s = cost.bytes_per_s;
  }
  return transfers_[end] = {program_.add_class(std::move(described)), to_picoseconds(cost.seconds)};
}

BlockId CommunicationClasses::alike(const EndOfTransfer& end) const {
  const auto as_large = [&](BlockId other, int stage) {
    const ShardedBlocks& blocks = blocks_.at(stage);
    return blocks.stream_bytes(other) == blocks.stream_bytes(end.stream);
  };
  BlockId first = ShardedBlocks::kEmbedding;
  while (!as_large(first, end.from) || !as_large(first, end.to)) ++first;
  return first;
}

const TransferCost& CommunicationClasses::cost_of(const EndOfTransfer& end) {
  const auto [known, is_new] = costs_.try_emplace({end.from, end.to, end.replica_class, end.stream});
  if (is_new) {
    known->second = transfer_cost(job_, stages_, blocks_, {end.from, end.to, end.replica_class, end.stream});
  }
  return known->second;
}

Communication CommunicationClasses::collective(Collective what, const CommunicationCost& cost) {
  TaskClass described;
  described.kind = TaskKind::collective;
  described.name = std::move(what.name);
  described.stage = what.stage;
  described.grouping = what.among;
  described.bytes = cost.bytes_sent;
  described.activity_s[static_cast<std::size_t>(what.activity)] = cost.seconds;
  described.flows = cost.flows;
  described.network_bytes_per_s = cost.network_bytes_per_s;
  described.work = CollectiveWork{what.kind, what.bytes, what.pieces, job_.precision()};
  return {program_.add_class(std::move(described)), to_picoseconds(cost.seconds)};
}

}  // namespace mirfak
