#pragma once

#include "program/program.hpp"
#include "program/rank_groups.hpp"
#include "program/stage_plan.hpp"
#include "program/transfer_cost.hpp"

#include <array>
#include <compare>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace mirfak {

// A transfer or collective as one rank runs it.
struct Communication {
  ClassId task_class = 0;
  Picoseconds duration = 0;
};

// Prices the communication between ranks of a program and describes it with task classes; equal ones share a class.
class CommunicationClasses {
 public:
  // `contended`: transfers between stages and collectives of replicas use the network at the same time, so each
  // carries demands on its rank's links, which are added here. program.ranks must be complete.
  CommunicationClasses(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks,
                       std::span<const StagePlan> stages, bool contended);

  // One end of a transfer between stages: `rank` (an index into program.ranks) sends or receives.
  struct EndOfTransfer {
    int from = 0;
    int to = 0;
    int replica_class = 0;
    bool forward = false;  // activations; else gradients
    bool sending = false;
    BlockId stream = ShardedBlocks::kEmbedding;  // StageTransfer

    friend auto operator<=>(const EndOfTransfer&, const EndOfTransfer&) = default;
  };
  Communication transfer(const EndOfTransfer& of, std::size_t rank);

  // What a collective is, beside its price. `bytes`: of the larger of a rank's buffers before and after.
  struct Collective {
    int stage = 0;
    std::string name;
    CollectiveKind kind{};
    double bytes = 0;
    int pieces = 1;
    Activity activity{};
    GroupingId among = kAlone;
  };
  Communication collective(Collective what, const CommunicationCost& cost);

  // `rank`'s part of a collective of its stage's replicas. The ranks of a group on one node carry what crosses the
  // node's ports together.
  Communication part_of(const Communication& collective, const CommunicationCost& cost, std::size_t rank);

 private:
  // The network as one rank sees it: its share of the node's ports, each way.
  struct RankLinks {
    LinkId out = 0;
    LinkId in = 0;
  };

  Program& program_;
  RankGroups& groups_;
  const Job& job_;
  const ShardedBlocks& blocks_;
  std::span<const StagePlan> stages_;
  std::vector<RankLinks> links_;  // of every rank; empty where nothing is contended
  // Of equally large streams the first, so that equal transfers share a class.
  BlockId alike(const EndOfTransfer& end) const;
  const TransferCost& cost_of(const EndOfTransfer& end);

  // By the stages that it is from and to, the class of replicas, and the stream.
  std::map<std::array<int, 4>, TransferCost> costs_;
  std::map<std::pair<EndOfTransfer, std::size_t>, Communication> transfers_;
  std::map<std::pair<ClassId, std::size_t>, ClassId> parts_;  // of a collective, by rank
};

}  // namespace mirfak
