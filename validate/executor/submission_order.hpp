#pragma once

#include "executor/rank_plan.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace mirfak::measure {

// A task of one of several plans.
struct PlannedTask {
  std::uint32_t plan = 0;  // index into the plans
  std::uint32_t task = 0;  // index into its tasks

  friend bool operator==(const PlannedTask&, const PlannedTask&) = default;
};

// Tasks that begin together: a kernel alone, or the members of a collective, transfer or meeting that run here.
using SubmissionStep = std::vector<PlannedTask>;

// The order in which a host hands the tasks of `plans`, which run on one device, to its streams: what a task waits for
// and what stands before it in its queue comes earlier. Of such orders it is the one nearest to the program's, where
// members of one operation stand at the last of them. Streams are asynchronous, so an event must have been recorded
// before anything is told to wait for it; in this order it has.
std::vector<SubmissionStep> submission_order(const ExecutionGroups& groups, std::span<const RankPlan> plans);

// The ranks that send to each other, and which of the two kinds of streams (activations forward, gradients backward).
struct TransferLane {
  int from = 0;
  int to = 0;
  bool forward = true;

  friend auto operator<=>(const TransferLane&, const TransferLane&) = default;
};

// The lane of a send or receive of a plan, with one rank.
TransferLane lane_of(const RankPlan& plan, const RankTask& task);

// All lanes of a program, in ascending order, the same on every rank. Error(infeasible) for transfers among more than
// two ranks (stages of different shape), and for those whose receivers gather.
std::vector<TransferLane> transfer_lanes(const Program& program);

// A move of one member in a collective among ranks that share a device's memory: a copy or sum over its buffers. A
// phase begins when all members have ended the one before.
struct LoopbackMove {
  int phase = 0;
  bool sums = false;       // over the inputs of all members; else a copy
  int from = 0;            // copy: the member whose buffer is read,
  bool of_result = false;  // ... its result, not its input
  std::size_t source = 0;  // elements: where in the buffers that are read,
  std::size_t target = 0;  // ... where in this member's result,
  std::size_t count = 0;   // ... and how many
};

// `elements`: of the larger of a rank's buffers before and after. Sums move what a ring does: each member adds up its
// own piece and fetches the others.
std::vector<LoopbackMove> loopback_moves(CollectiveKind kind, int member, int members, std::size_t elements);

}  // namespace mirfak::measure
