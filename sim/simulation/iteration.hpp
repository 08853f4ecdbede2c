#pragma once

#include "cost/activity.hpp"
#include "engine/execute.hpp"
#include "engine/timeline.hpp"
#include "program/job.hpp"
#include "program/lowering.hpp"
#include "program/memory.hpp"
#include "program/program.hpp"
#include "program/stage_plan.hpp"

#include <functional>
#include <span>
#include <vector>

namespace mirfak {

// Where the time and memory of one stage and class of replicas go: of one of its ranks, which all behave alike, or
// where perturbations tell them apart, on average.
struct StageResult {
  ActivitySeconds activity_s{};  // sums to the iteration time
  StageMemory memory;
  double average_power_w = 0;  // of one GPU

  friend bool operator==(const StageResult&, const StageResult&) = default;
};

// What one iteration takes and costs. Times of all stages are on one clock that starts at 0.
struct IterationResult {
  double iteration_time_s = 0;
  double iteration_time_low_s = 0;  // the range that measurements keep (Job::ranges); 0: nothing is known
  double iteration_time_high_s = 0;
  double tokens_per_s = 0;
  double tokens_per_s_per_gpu = 0;
  // By the convention of papers, of the whole job: attention over all pairs of tokens, whatever its mask hides.
  double model_flop = 0;      // three times the forward pass
  double hardware_flop = 0;   // with recomputation
  double tflops_per_gpu = 0;  // model FLOPs
  double hardware_tflops_per_gpu = 0;
  // The same as executed: kernels that leave out what a mask hides count what they compute. A device cannot do more of
  // them than its peak.
  double visible_flop = 0;   // without recomputation
  double executed_flop = 0;  // with it
  double mfu = 0;            // visible FLOPs over the peak of the precision trained in
  double hfu = 0;            // executed FLOPs over the same
  int gpus = 0;
  double bubble_fraction = 0;          // mean over ranks
  double exposed_communication_s = 0;  // mean over ranks
  ActivitySeconds activity_s{};        // mean over ranks; sums to the iteration time
  double gpu_of_others_s = 0;          // mean over ranks: kernels of other ranks on the GPU that they share; a bubble
  bool slowest_stands_for_others = false;  // Program
  double memory_peak_bytes = 0;            // of the fullest stage, relative to its capacity
  double memory_peak_low_bytes = 0;        // the range that measured peaks keep (Job::ranges); 0: nothing is known
  double memory_peak_high_bytes = 0;
  double memory_capacity_bytes = 0;  // of that stage
  int fullest_stage = 0;
  std::size_t fullest_plan = 0;  // the same with its class of replicas: an index of `stages`
  bool fits = false;             // on every stage
  double energy_j = 0;           // of all GPUs
  double average_power_w = 0;    // of all GPUs
  // Of the machine (GPUs, hosts, network), of the facility around it, and what making and running it emits. All 0
  // unless the cluster says anything of its facility.
  double machine_energy_j = 0;
  double facility_energy_j = 0;
  double co2_kg = 0;           // of the facility's energy; 0: no intensity is known
  double embodied_co2_kg = 0;  // the iteration's share of what making the GPUs emitted
  double cost_usd = 0;         // 0: no price is known
  bool priced = false;
  double training_time_s = 0;  // for training.tokens; 0: not asked
  double training_cost_usd = 0;
  std::uint64_t events = 0;
  std::vector<StageResult> stages;  // of each plan: of each stage, and of each of its classes of replicas

  friend bool operator==(const IterationResult&, const IterationResult&) = default;
};

// One simulated iteration with all that it was made from. A value, to be moved and copied as any other: plans refer to
// the hardware of `job.cluster`, which copies of a cluster share.
struct Simulation {
  Job job;
  ShardedBlocks blocks;
  std::vector<StagePlan> plans;  // stage-major: plan_stages
  Program program;
  Timeline timeline;
  IterationResult result;

  // The iteration as a program, perturbed where the cluster is: with the options that it was simulated with, `program`.
  Program lowered_as(const LoweringOptions& options) const;
  // The same for jobs that share a network, as lower_apart(), with the ranks of `program`.
  LoweredJob lowered_apart_as(const LoweringOptions& options) const;
  // When the tasks of such a program run.
  Timeline times_of(const Program& of, Executor executor = Executor::automatic) const;

 private:
  friend Simulation simulate(Job job, const LoweringOptions& options, Executor executor);
  friend Simulation lowered(Job job, const LoweringOptions& options);
  friend void set_timeline(Simulation& simulation, Timeline timeline);
  friend class Evaluator;
  explicit Simulation(Job of);
  void account(std::span<const BlockMemory> of_blocks);
  // Fills in all that follows from job, blocks and plans. `of_blocks`: what memory_of_blocks() says of the blocks.
  void run(const LoweringOptions& options, Executor executor, std::span<const BlockMemory> of_blocks);
};

// Simulates one iteration: shards, lowers, executes, accounts. An iteration that does not fit in memory is
// simulated all the same; see IterationResult::fits. Where ranks share GPUs, every rank and kernel is lowered, and
// where perturbations tell ranks of a class apart, every rank, whatever the options say. Errors: Error(infeasible) if
// the job cannot run on its cluster for other reasons.
Simulation simulate(Job job, const LoweringOptions& options = {}, Executor executor = Executor::automatic);

// The same up to the program, for who executes it by other means: timeline and result are empty. Errors as above.
Simulation lowered(Job job, const LoweringOptions& options);
// Gives it the times that it was executed in, and the result that follows from them.
void set_timeline(Simulation& simulation, Timeline timeline);

// The result of several iterations on average: timeline_of(i) is that of one of `count`, of `simulation.program` and
// beginning at 0.
IterationResult mean_result(const Simulation& simulation, std::size_t count,
                            const std::function<Timeline(std::size_t)>& timeline_of);

}  // namespace mirfak
