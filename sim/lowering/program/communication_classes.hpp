#pragma once

#include "program/program.hpp"
#include "program/rank_groups.hpp"
#include "program/stage_plan.hpp"
#include "program/transfer_cost.hpp"

#include <array>
#include <compare>
#include <map>
#include <span>
#include <vector>

namespace mirfak {

// A transfer or collective as one rank runs it.
struct Communication {
  ClassId task_class = 0;
  Picoseconds duration = 0;
};

// Prices the communication between ranks of a program and describes it with task classes; equal communications share a
// class.
class CommunicationClasses {
 public:
  // program.ranks must be complete.
  CommunicationClasses(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks,
                       std::span<const StagePlan> stages);

  // One end of a transfer between stages.
  struct EndOfTransfer {
    int from = 0;
    int to = 0;
    int replica_class = 0;
    bool forward = false;  // true: activations; false: gradients
    bool sending = false;
    BlockId stream = ShardedBlocks::kEmbedding;  // as in StageTransfer

    friend auto operator<=>(const EndOfTransfer&, const EndOfTransfer&) = default;
  };
  Communication transfer(const EndOfTransfer& of);

  // A collective without its price. `bytes`: size of the larger of a rank's buffers before and after.
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

 private:
  Program& program_;
  RankGroups& groups_;
  const Job& job_;
  const ShardedBlocks& blocks_;
  std::span<const StagePlan> stages_;
  int classes_;  // classes of replicas
  // The first of the streams that are as large as the end's, so that equal transfers share a class.
  BlockId alike(const EndOfTransfer& end) const;
  const TransferCost& cost_of(const EndOfTransfer& end);

  // Keys: sending stage, receiving stage, class of replicas, stream.
  std::map<std::array<int, 4>, TransferCost> costs_;
  std::map<EndOfTransfer, Communication> transfers_;
  // The transfer asked for last at each end: programs have millions of transfers, and most ends always have the same.
  // By sending stage, class of replicas, direction and side.
  struct Recent {
    EndOfTransfer end;
    Communication found;
  };
  std::vector<Recent> recent_;
  Communication find_transfer(const EndOfTransfer& of);
};

}  // namespace mirfak
