#pragma once

#include "cost/activity.hpp"
#include "engine/execute.hpp"
#include "engine/timeline.hpp"
#include "program/job.hpp"
#include "program/lowering.hpp"
#include "program/memory.hpp"
#include "program/program.hpp"
#include "program/stage_plan.hpp"
#include "simulation/outer_step.hpp"
#include "simulation/power_figures.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace mirfak {

// Time and memory of one stage and class of replicas. Its ranks behave alike: figures are those of one rank, or the
// mean over the ranks if perturbations make them differ.
struct StageResult {
  ActivitySeconds activity_s{};  // sums to the iteration time
  StageMemory memory;
  double average_power_w = 0;  // power of one GPU

  friend bool operator==(const StageResult&, const StageResult&) = default;
};

// Time and costs of one iteration. Times of all stages are on one clock that starts at 0.
struct IterationResult {
  double iteration_time_s = 0;
  double iteration_time_low_s = 0;  // range that measurements keep (Job::ranges); 0: not known
  double iteration_time_high_s = 0;
  double tokens_per_s = 0;
  double tokens_per_s_per_gpu = 0;
  // FLOPs of the whole job by the convention of papers: attention over all pairs of tokens, whatever its mask hides.
  double model_flop = 0;      // three times the forward pass
  double hardware_flop = 0;   // with recomputation
  double tflops_per_gpu = 0;  // model FLOPs
  double hardware_tflops_per_gpu = 0;
  // FLOPs as executed: kernels that leave out what a mask hides count only what they compute. A device cannot execute
  // more of these FLOPs than its peak.
  double visible_flop = 0;   // without recomputation
  double executed_flop = 0;  // with recomputation
  double mfu = 0;            // visible FLOPs over the peak of the training precision
  double hfu = 0;            // executed FLOPs over the same peak
  int gpus = 0;
  double bubble_fraction = 0;              // mean over ranks
  double exposed_communication_s = 0;      // mean over ranks
  ActivitySeconds activity_s{};            // mean over ranks; sums to the iteration time
  double gpu_of_others_s = 0;              // mean over ranks: kernels of other ranks on a shared GPU; a bubble
  bool slowest_stands_for_others = false;  // Program::slowest_stands_for_others
  double memory_peak_bytes = 0;            // peak of the stage that is fullest relative to its capacity
  double memory_peak_low_bytes = 0;        // range that measured peaks keep (Job::ranges); 0: not known
  double memory_peak_high_bytes = 0;
  double memory_capacity_bytes = 0;  // capacity of the fullest stage
  double fit_probability = -1;       // probability that every stage has the memory it needs; below 0: not known
  int fullest_stage = 0;
  std::size_t fullest_plan = 0;  // index into `stages` of the fullest stage and class of replicas
  bool fits = false;             // true if it fits on every stage
  double energy_j = 0;           // energy of all GPUs
  double energy_low_j = 0;       // range that measurements of it keep (PowerWidths); 0: not known
  double energy_high_j = 0;
  double power_floor_energy_j = 0;    // part of it that GPUs burn to keep cluster.power_floor
  double average_power_w = 0;         // power of all GPUs
  std::optional<PowerFigures> power;  // nothing: the iteration was executed in part, or is a mean of several
  // Figures of the machine (GPUs, hosts, network), of the facility around it, and emissions from making and running it.
  // All 0 unless the cluster says anything of its facility.
  double machine_energy_j = 0;
  double machine_energy_low_j = 0;  // range that measurements of it keep; 0: not known
  double machine_energy_high_j = 0;
  double facility_energy_j = 0;
  double co2_kg = 0;           // emissions for the facility's energy; 0: no intensity is known
  double embodied_co2_kg = 0;  // the iteration's share of the emissions from making the GPUs
  double cost_usd = 0;         // 0: no price is known
  bool priced = false;
  double training_time_s = 0;  // for training.tokens, of all learners; 0: not asked
  double training_cost_usd = 0;
  OuterStep outer;  // joining with other learners: iteration_time_s has its exposed_s; zeros without learners
  std::uint64_t events = 0;
  std::vector<StageResult> stages;  // one for each plan: for each stage and each of its classes of replicas

  friend bool operator==(const IterationResult&, const IterationResult&) = default;
};

struct DocumentContexts;

// One simulated iteration with all that it was made from. A value, which can be moved and copied as any other: plans
// refer to the hardware of `job.cluster`, which copies of a cluster share.
struct Simulation {
  Job job;
  ShardedBlocks blocks;
  std::vector<StagePlan> plans;  // stage-major: plan_stages()
  Program program;
  Timeline timeline;
  IterationResult result;
  // The iteration of all documents, if they take context ranks of their own (strategy.context_tokens): the members
  // above describe those that need most memory, and `result` all. Null: the members describe the whole.
  std::shared_ptr<const DocumentContexts> contexts = nullptr;

  // The job that was asked for.
  const Job& whole_job() const;
  // Returns the iteration as a program, perturbed if the cluster is: `program`, if the options are those of the
  // simulation.
  Program lowered_as(const LoweringOptions& options) const;
  // Returns the iteration for jobs that share a network, like lower_apart(), with the ranks of `program`.
  LoweredJob lowered_apart_as(const LoweringOptions& options) const;
  // Returns the times of the tasks of a program that lowered_as() returned.
  Timeline times_of(const Program& of, Executor executor = Executor::automatic) const;

 private:
  friend Simulation simulate(Job job, const LoweringOptions& options, Executor executor);
  friend Simulation lowered(Job job, const LoweringOptions& options);
  friend void set_timeline(Simulation& simulation, Timeline timeline);
  friend bool has_result(Job job, const IterationResult& expected);
  friend class Evaluator;
  explicit Simulation(Job of);
  // Fills in the result, without the figures of power over time.
  void account(std::span<const BlockMemory> of_blocks);
  void add_power_figures();
  // Fills in all that follows from job, blocks and plans. `of_blocks`: the result of memory_of_blocks() for the blocks.
  void run(const LoweringOptions& options, Executor executor, std::span<const BlockMemory> of_blocks);
};

// Simulates one iteration: shards, lowers, executes, accounts. An iteration that does not fit in memory is simulated
// all the same; see IterationResult::fits. If ranks share GPUs, every rank and kernel is lowered, and if perturbations
// tell ranks of a class apart, every rank is lowered, whatever the options say. Error(infeasible) if the job cannot run
// on its cluster for other reasons.
Simulation simulate(Job job, const LoweringOptions& options = {}, Executor executor = Executor::automatic);

// Simulates one iteration up to its program, for callers that execute it by other means: timeline and result are empty.
// Errors as of simulate().
Simulation lowered(Job job, const LoweringOptions& options);
// Sets the timeline of a simulation, and the result that follows from it.
void set_timeline(Simulation& simulation, Timeline timeline);

// FLOPs and tokens of an iteration, of all ranks: as in IterationResult.
struct IterationWork {
  double tokens = 0;
  double model_flop = 0;
  double visible_flop = 0;
  double hardware_flop = 0;
  double executed_flop = 0;
};
// Sums of an iteration, from which its result follows.
struct IterationParts {
  double executed_s = 0;                    // time until the last task ends
  std::vector<ActivitySeconds> activities;  // until then, one for each plan
  double energy_j = 0;
  std::vector<double> energy_of_plans;
  IterationWork work;
};
// Returns the result of an iteration with these sums, whose memory is that of `simulation`.
IterationResult result_of_parts(const Simulation& simulation, const IterationParts& parts);

// True if an iteration of the job, simulated by simulate(job), has this result; it is simulated as far as that tells.
// Events are not compared. Errors as of simulate().
bool has_result(Job job, const IterationResult& expected);

// Returns the mean result of `count` iterations: timeline_of(i) is the timeline of one of them, for
// `simulation.program` and beginning at 0.
IterationResult mean_result(const Simulation& simulation, std::size_t count,
                            const std::function<Timeline(std::size_t)>& timeline_of);

}  // namespace mirfak
