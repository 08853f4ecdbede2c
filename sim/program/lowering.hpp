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
  // Every rank explicit; else one rank per stage and class of replicas, standing for all that behave like it.
  bool unfolded = false;
  // Every kernel and collective a task of its own; else one task per pass, unless collectives inside it share the
  // network with others: then one for each of these and for the kernels between two of them.
  bool operators = false;
  // What passes exchange inside has the network for itself, and does not cut them.
  bool passes_alone = false;
  // Every rank of a replica explicit, or of the replicas that exchange experts' rows, and one of these standing for all
  // of its kind: where ranks of a replica differ, as folds(job) says, or share GPUs.
  bool whole_teams = false;
  // One rank stands for all replicas of a class, also where short links slow them unlike: the slowest then decides.
  bool by_class = false;
  // Program::kind_of_replica; empty: as short links ask for.
  std::vector<std::uint32_t> kind_of_replica = {};
  // Such a pass is one task all the same where no collectives of replicas cut it: for jobs whose passes share the
  // network with nothing else.
  bool steps_where_cut = false;
  // Every pass in steps: kernels between two of its collectives as one, and each of these.
  bool passes_in_steps = false;
  // Passes without the factors that cluster.perturbations gives ranks, for samples, which draw others: LoweredJob says
  // how long passes take with these. Else they have them, and TaskClass::slowed says so.
  bool for_samples = false;
  // The factors of the program's ranks, in their order, where each stands for unlike ones; empty: those of each.
  std::vector<RankFactors> factors = {};
  // All links of the network, also those that nothing can make short of capacity: slower, and no task runs otherwise.
  bool all_links = false;

  bool whole_passes() const { return !operators && !passes_in_steps && passes_alone; }
  bool folded() const { return !unfolded && !whole_teams; }  // a rank stands for all of its team
};

// Whether collectives inside a job's passes may be short of links between switches; whether of these, or of ports that
// others use at the same time.
bool shares_switches_in_passes(const Job& job, std::span<const StagePlan> plans);
bool shares_links_in_passes(const Job& job, std::span<const StagePlan> plans);

// Lowers one iteration of a job. What each rank runs, by stream:
//  - host: issues each pass ahead of the device; waits for transfers that are not overlapped, if the framework does;
//  - compute: forward and backward passes in the order of the schedule, the optimizer step;
//  - data: gradient reduction (all-reduce; ZeRO 1: reduce-scatter, and all-gather of the parameters at the end),
//    after the last backward pass, or in buckets behind it where overlapped; the sum of tied embedding gradients;
//  - send/recv: one stream per direction. A transfer starts when its data is ready and both ends are free, and
//    occupies both; the sender's next pass waits for it, unless the framework overlaps transfers (interleaved only).
//    Its two ends are neighbours in the program: the send, then its receive.
// Where gradient buckets and transfers between stages use the network at the same time, they share each rank's part
// of the node's ports; where links between switches may be short, all that is a task of its own shares these
// (shared_links.hpp). Everything else has the bandwidth that its price assumes.
// The optimizer starts when all ranks have their gradients (clipping needs the global norm).
// Folded and unfolded programs take the same time, and so do both levels of detail: tests/program.
// Error(infeasible) for a program of more than some 130 million tasks.
// `blocks` and `plans` (plan_stages) belong to `job`; bodies of `plans` must outlive only this call.
Program lower(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans,
              const LoweringOptions& options = {});

// The same without links, and what it would take of them: for jobs that share a network (joint_program.hpp).
struct LoweredJob {
  Program program;
  NetworkLoads loads;        // of routes that are good until the thread asks for those of another cluster
  FoldedPasses passes = {};  // with LoweringOptions::for_samples
};
// `like`: a program of the job, whose ranks it has; null: those that the options ask for.
LoweredJob lower_apart(const Job& job, const ShardedBlocks& blocks, std::span<const StagePlan> plans,
                       const LoweringOptions& options = {}, const Program* like = nullptr);

}  // namespace mirfak
