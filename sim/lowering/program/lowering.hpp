#pragma once

#include "program/folded_passes.hpp"
#include "program/job.hpp"
#include "program/network_loads.hpp"
#include "program/program.hpp"
#include "program/stage_plan.hpp"

#include <span>
#include <vector>

namespace mirfak {

struct LoweringOptions {
  // Every rank is explicit; else there is one rank per stage and class of replicas, which stands for all ranks that
  // behave like it.
  bool unfolded = false;
  // Every kernel and collective is a task of its own; else there is one task per pass. If collectives inside a pass
  // share the network with others, each collective is one task, and so are the kernels between two collectives.
  bool operators = false;
  // Exchanges inside passes have the network for themselves and do not cut the passes.
  bool passes_alone = false;
  // Every rank of a replica is explicit, or every rank of the replicas that exchange experts' rows, and one of these
  // teams stands for all teams of its kind: for ranks of a replica that differ, as folds(job) says, or that share GPUs.
  bool whole_teams = false;
  // One rank stands for all replicas of a class, even if short links slow the replicas unlike: the slowest replica then
  // decides.
  bool by_class = false;
  // Kinds as in Program::kind_of_replica; empty: lower() divides classes into kinds as short links require.
  std::vector<std::uint32_t> kind_of_replica = {};
  // A pass whose collectives share the network is still one task where no collectives of replicas cut it: for jobs
  // whose passes share the network with nothing else.
  bool steps_where_cut = false;
  // Every pass is written in steps: each collective is one step, and so are the kernels between two collectives.
  bool passes_in_steps = false;
  // Collectives inside passes that use no network are one step with the kernels beside them: the program has a fraction
  // of the tasks, and takes as long. Its energies are sums in another order, and its power changes less often.
  bool longest_steps = false;
  // Passes are written without the factors that cluster.perturbations gives to ranks, for samples, which draw other
  // factors: LoweredJob then says how long passes take with drawn factors. Else passes have the factors, and
  // TaskClass::slowed is true.
  bool for_samples = false;
  // The factors of the program's ranks, in their order, where each rank stands for unlike ranks; empty: each rank has
  // its own factors.
  std::vector<RankFactors> factors = {};
  // All links of the network, also links that can never be short of capacity: lowering is slower, and no task runs
  // differently.
  bool all_links = false;

  bool whole_passes() const { return !operators && !passes_in_steps && passes_alone; }
  bool folded() const { return !unfolded && !whole_teams; }  // a rank stands for all ranks of its team
};

// True if links between switches may be short for the collectives inside a job's passes. The second function also
// returns true if these collectives use ports that others use at the same time.
bool shares_switches_in_passes(const Job& job, std::span<const StagePlan> plans);
bool shares_links_in_passes(const Job& job, std::span<const StagePlan> plans);

// Lowers one iteration of a job. The streams of each rank run:
//  - host: issues each pass ahead of the device; waits for transfers that are not overlapped, if the framework does;
//  - compute: forward and backward passes in the order of the schedule, the optimizer step;
//  - data: gradient reduction (all-reduce; ZeRO 1: reduce-scatter, and all-gather of the parameters at the end),
//    after the last backward pass, or in buckets after its parts if overlapped; the sum of tied embedding gradients;
//  - send/recv: one stream per direction. A transfer starts when its data is ready and both ends are free, and
//    occupies both; the sender's next pass waits for it, unless the framework overlaps transfers (interleaved only).
//    Its two ends are neighbours in the program: the send, then its receive.
// Gradient buckets and transfers between stages that use the network at the same time share each rank's part of the
// node's ports. Where links between switches may be short, all communication that is a task of its own shares these
// links (shared_links.hpp). All other communication has the bandwidth that its price assumes.
// The optimizer starts when all ranks have their gradients (clipping needs the global norm).
// Folded and unfolded programs take the same time, and so do both levels of detail: tests/program.
// Error(infeasible) for a program of more than some 130 million tasks.
// `blocks` and `plans` (plan_stages) belong to `job`; bodies of `plans` must outlive only this call.
Program lower(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans,
              const LoweringOptions& options = {});

// A job lowered without links, and the loads that its program would put on links: for jobs that share a network
// (joint_program.hpp).
struct LoweredJob {
  Program program;
  NetworkLoads loads;        // routes are valid until the thread asks for those of another cluster
  FoldedPasses passes = {};  // filled with LoweringOptions::for_samples
};
// `like`: a program of the job; the result has the same ranks. Null: the ranks follow from the options.
LoweredJob lower_apart(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans,
                       const LoweringOptions& options = {}, const Program* like = nullptr);

}  // namespace mirfak
