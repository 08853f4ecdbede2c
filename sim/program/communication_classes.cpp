#include "program/communication_classes.hpp"

#include <fmt/format.h>

#include <utility>

namespace mirfak {

CommunicationClasses::CommunicationClasses(Program& program, RankGroups& groups, const Job& job,
                                           const ShardedBlocks& blocks, std::span<const StagePlan> stages,
                                           bool contended)
    : program_(program), groups_(groups), job_(job), blocks_(blocks), stages_(stages) {
  if (!contended) return;
  for (const ProgramRank& rank : program_.ranks) {
    const double share = stages_[rank.plan].costs.communication.port_share();
    const auto next = static_cast<LinkId>(program_.links.size());
    program_.links.push_back({fmt::format("rank {} to network", rank.rank), share});
    program_.links.push_back({fmt::format("network to rank {}", rank.rank), share});
    links_.push_back({next, next + 1});
  }
}

Communication CommunicationClasses::transfer(const EndOfTransfer& of, std::size_t rank) {
  EndOfTransfer end = of;
  end.stream = alike(of);
  const auto key = std::pair(end, links_.empty() ? 0 : rank);
  if (const auto known = transfers_.find(key); known != transfers_.end()) return known->second;
  const TransferCost& cost = cost_of(end);
  TaskClass described;
  described.kind = TaskKind::transfer;
  described.name = fmt::format("{} {}", end.sending ? "send" : "receive", end.forward ? "activations" : "gradients");
  described.stage = end.sending ? end.from : end.to;
  described.grouping = groups_.between(GroupKind::transfer, end.from, end.to);
  described.bytes = end.sending ? cost.sent() : cost.received();
  described.work = TransferWork{cost.bytes, cost.senders, cost.receivers, cost.gathered_bytes, job_.precision()};
  described.activity_s[static_cast<std::size_t>(Activity::pipeline_communication)] = cost.seconds;
  if (!links_.empty() && cost.on_network) {
    described.demands = {end.sending ? std::pair(links_[rank].out, cost.bytes_per_s)
                                     : std::pair(links_[rank].in, cost.received_bytes_per_s)};
  }
  return transfers_[key] = {program_.add_class(std::move(described)), to_picoseconds(cost.seconds)};
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
  described.work = CollectiveWork{what.kind, what.bytes, what.pieces, job_.precision()};
  return {program_.add_class(std::move(described)), to_picoseconds(cost.seconds)};
}

Communication CommunicationClasses::part_of(const Communication& collective, const CommunicationCost& cost,
                                            std::size_t rank) {
  if (links_.empty()) return collective;
  const auto [known, is_new] = parts_.try_emplace({collective.task_class, rank});
  if (!is_new) return {known->second, collective.duration};
  TaskClass described = program_.classes[collective.task_class];
  described.demands = {{links_[rank].out, cost.network_bytes_per_s}, {links_[rank].in, cost.network_bytes_per_s}};
  known->second = program_.add_class(std::move(described));
  return {known->second, collective.duration};
}

}  // namespace mirfak
