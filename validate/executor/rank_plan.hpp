#pragma once

#include "program/program.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mirfak::measure {

// Ranks that act together on one kind of stream: the members of a collective, or of a meeting that is one of its own.
struct RankGroup {
  StreamKind stream{};
  std::vector<int> ranks;  // in the order of their places in the group

  friend auto operator<=>(const RankGroup&, const RankGroup&) = default;
};

// One task of a rank, as an executor runs it.
struct RankTask {
  enum class Operation : std::uint8_t { issue, kernel, collective, send, receive, meet };
  TaskId task = 0;  // of the program
  Operation operation{};
  std::uint32_t queue = 0;           // index into RankPlan::queues
  std::vector<std::uint32_t> after;  // earlier entries of RankPlan::tasks that must have ended
  std::uint32_t kernel = 0;          // kernel: index into RankPlan::kernels
  CollectiveKind collective{};       // collective: what,
  double bytes = 0;                  // ... bytes of its larger buffer; send, receive: bytes of a message
  std::uint32_t group = 0;           // collective, meet: index into ExecutionGroups::groups
  bool meets = false;                // send, receive: its ranks are more than two, and meet (`group`) before they begin
  std::vector<int> peers;            // send, receive: the other ranks, each of which gets, or sends, a message
  double gathered_bytes = 0;         // receive: the tensor ranks then gather so much of what each was sent; 0: no
  std::uint32_t gather_group = 0;    // ... among these: index into ExecutionGroups::groups
};

// An in-order queue of a rank: one of its streams, or the meetings of one group that it belongs to.
struct RankQueue {
  StreamKind stream{};
  std::vector<std::uint32_t> tasks;  // indices into RankPlan::tasks, in order
};

struct RankPlan {
  int rank = 0;
  std::vector<RankTask> tasks;  // in the order of the program
  std::vector<RankQueue> queues;
  std::vector<KernelWork> kernels;
  double max_bytes = 0;  // of any collective, message or gather
};

// Groups of tasks of a program that act together, the same on every rank.
//
// A meeting in front of a collective needs nothing of its own where the collective's members are those who meet: no
// collective ends anywhere before it has begun everywhere. The other meetings (ranks of a team in front of the
// optimizer step, all ranks at the norm of the gradients) are operations of their own.
struct ExecutionGroups {
  std::vector<RankGroup> groups;         // those that communicate; more than one rank each
  std::vector<std::int32_t> of_task;     // by task of the program: index into groups; -1: acts alone
  std::vector<std::uint32_t> leader;     // by task: the first task of the same collective or transfer, of a
                                         // meeting that needs nothing of its own the collective's; else itself
  std::vector<std::uint8_t> is_meeting;  // by task: a meeting that is an operation of its own
  std::vector<std::int32_t> gather_of;   // by task: a receive behind which tensor ranks gather; index into groups
};

// `program`: with every rank and operator explicit. Error(infeasible) for what executors do not run: kernels that
// compute and are neither products nor attention.
ExecutionGroups execution_groups(const Program& program);
// `rank`: of the cluster. Error(internal) if a task waits for one of another rank and nothing would tell it of that
// end.
RankPlan rank_plan(const Program& program, const ExecutionGroups& groups, int rank);

// The formats that the kernels of a program compute in.
KernelPrecision precision_of(const Program& program);

}  // namespace mirfak::measure
