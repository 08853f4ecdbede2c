#include "simulation/iteration.hpp"

#include "base/cancellation.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "engine/perturbed.hpp"
#include "program/replica_classes.hpp"
#include "program/reserved_memory.hpp"
#include "program/staggered_start.hpp"
#include "simulation/breakdown.hpp"
#include "simulation/document_contexts.hpp"
#include "simulation/facility_use.hpp"
#include "simulation/long_iteration.hpp"
#include "simulation/power_ramp.hpp"
#include "simulation/power_waveform.hpp"
#include "simulation/prediction_range.hpp"
#include "simulation/score.hpp"
#include "simulation/shared_gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace mirfak {

namespace {

double at(const ActivitySeconds& seconds, Activity activity) { return seconds[static_cast<std::size_t>(activity)]; }

IterationWork work_of(const Simulation& simulation) {
  const TrainingSpec& training = simulation.job.training;
  IterationWork out;
  out.tokens = training.tokens_of(training.global_batch);
  for (const StagePlan& plan : simulation.plans) {
    for (std::size_t i = 0; i < plan.chunks.size(); ++i) {
      const ChunkPlan& chunk = plan.chunks[i];
      const double passes = plan.microbatches_of(static_cast<int>(i));
      for (const BlockRun& run : chunk.runs) {
        const BlockBodies& block = plan.bodies_of(run.block);
        const double times = run.count * passes * plan.ranks;
        if (!run.forward_only) {
          out.model_flop += times * block.model_flop;
          out.visible_flop += times * block.visible_flop;
        }
        out.hardware_flop += times * (block.folded_forward.flop + block.folded_backward.flop);
        out.executed_flop += times * (block.folded_forward.executed_flop + block.folded_backward.executed_flop);
      }
    }
  }
  return out;
}

void count_work(const Simulation& simulation, const IterationWork& work, IterationResult& result) {
  double peak = 0;
  double gpus = 0;
  for (const StagePlan& plan : simulation.plans) {
    peak += plan.costs.kernels.peak_flops() * plan.costs.kernels.gpu().throttle.stretch * plan.gpus();
    gpus += plan.gpus();
  }
  const double rate = 1 / result.iteration_time_s;
  result.model_flop = work.model_flop;
  result.visible_flop = work.visible_flop;
  result.hardware_flop = work.hardware_flop;
  result.executed_flop = work.executed_flop;
  result.gpus = static_cast<int>(std::ceil(gpus));
  result.tokens_per_s = work.tokens * rate;
  result.tokens_per_s_per_gpu = result.tokens_per_s / result.gpus;
  result.tflops_per_gpu = result.model_flop * rate / result.gpus * 1e-12;
  result.hardware_tflops_per_gpu = result.hardware_flop * rate / result.gpus * 1e-12;
  result.mfu = result.visible_flop * rate / peak;
  result.hfu = result.executed_flop * rate / peak;
}

// Returns one rank of a plan: the first, if the others behave like it.
std::uint32_t first_rank_of(const Program& program, std::size_t plan) {
  const auto found = std::find_if(program.ranks.begin(), program.ranks.end(),
                                  [&](const ProgramRank& rank) { return rank.plan == plan; });
  return static_cast<std::uint32_t>(found - program.ranks.begin());
}

// Returns the time of each plan's ranks by activity, as a mean if perturbations, short links or other ranks on their
// GPU divide them.
std::vector<ActivitySeconds> breakdown_of_plans(const Simulation& simulation, const Timeline& timeline) {
  const Program& program = simulation.program;
  std::vector<ActivitySeconds> out(simulation.plans.size());
  const bool alike = folds(simulation.job) && !program.shares_links() && !simulation.job.cluster.shares_gpus();
  if (alike && !program.whole_teams) {
    std::vector<std::uint32_t> ranks;
    for (std::size_t plan = 0; plan < out.size(); ++plan) ranks.push_back(first_rank_of(program, plan));
    return breakdown_of(program, timeline, ranks);
  }
  std::vector<std::uint32_t> ranks(program.ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  const std::vector<ActivitySeconds> of_ranks = breakdown_of(program, timeline, ranks);
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const std::uint32_t plan = program.ranks[rank].plan;
    for (std::size_t i = 0; i < kActivities; ++i) {
      out[plan][i] += of_ranks[rank][i] * program.ranks[rank].multiplicity / simulation.plans[plan].ranks;
    }
  }
  return out;
}

// Returns the time of an iteration whose last task ends after `executed`: with the wait for other learners, if any.
double seconds_of(const Simulation& simulation, Picoseconds executed) {
  const double seconds = to_seconds(executed);
  return seconds + outer_step(simulation.job, simulation.plans, seconds).exposed_s;
}

void break_down(const Simulation& simulation, std::span<const BlockMemory> of_blocks,
                std::span<const ActivitySeconds> activities, IterationResult& result) {
  auto memory = account_memory(simulation.job, simulation.blocks, simulation.plans, of_blocks);
  add_reserves(simulation.job, simulation.blocks, simulation.plans, memory);
  const Strategy& strategy = simulation.job.strategy;
  const double stages = strategy.pipeline;
  double fullest = 0;
  result.fits = true;
  for (std::size_t place = 0; place < simulation.plans.size(); ++place) {
    const StagePlan& plan = simulation.plans[place];
    const double replicas = static_cast<double>(plan.replicas.count()) / strategy.data;
    const double ranks = plan.ranks / static_cast<double>(strategy.ranks());
    StageResult stage;
    stage.activity_s = activities[place];
    stage.activity_s[static_cast<std::size_t>(Activity::data_communication)] += result.outer.exposed_s;
    stage.memory = memory[place];
    for (std::size_t i = 0; i < kActivities; ++i) {
      result.activity_s[i] +=
          strategy.stages.empty() ? replicas * stage.activity_s[i] / stages : ranks * stage.activity_s[i];
    }
    result.fits = result.fits && stage.memory.fits();
    const double share = stage.memory.peak.total() / stage.memory.capacity;
    if (share > fullest) {
      fullest = share;
      result.fullest_stage = plan.stage;
      result.fullest_plan = place;
      result.memory_peak_bytes = stage.memory.peak.total();
      result.memory_capacity_bytes = stage.memory.capacity;
    }
    result.stages.push_back(stage);
  }
  result.bubble_fraction = at(result.activity_s, Activity::bubble) / result.iteration_time_s;
  result.exposed_communication_s =
      at(result.activity_s, Activity::tensor_communication) + at(result.activity_s, Activity::context_communication) +
      at(result.activity_s, Activity::expert_communication) + at(result.activity_s, Activity::data_communication) +
      at(result.activity_s, Activity::pipeline_communication);
}

void add_facility(const Job& job, IterationResult& result) {
  const Cluster& cluster = job.cluster;
  const FacilityUse use = facility_use(
      cluster.facility(),
      {result.energy_j, cluster.host_power_w(), static_cast<double>(cluster.physical_gpus()), result.iteration_time_s});
  result.machine_energy_j = use.machine_energy_j;
  result.facility_energy_j = use.facility_energy_j;
  result.co2_kg = use.co2_kg;
  result.embodied_co2_kg = use.embodied_co2_kg;
}

void add_up_costs(const Simulation& simulation, double energy_j, std::span<const double> of_plans,
                  IterationResult& result) {
  const Job& job = simulation.job;
  result.energy_j = energy_j;
  double gpus = 0;
  for (const StagePlan& plan : simulation.plans) gpus += plan.gpus();
  for (std::size_t place = 0; place < of_plans.size(); ++place) {
    const double gpu_s = simulation.plans[place].gpus() * result.iteration_time_s;
    // Stages that share a GPU take turns on it, for longer or shorter times: the power of the GPU is that of all of
    // them.
    result.stages[place].average_power_w =
        job.cluster.shares_gpus() ? result.energy_j / (gpus * result.iteration_time_s) : of_plans[place] / gpu_s;
  }
  result.priced = true;
  for (const StagePlan& plan : simulation.plans) {
    if (!plan.costs.hardware->price) {
      result.priced = false;
      continue;
    }
    result.cost_usd +=
        plan.costs.hardware->price->usd_per_gpu_hour.value * plan.gpus() * result.iteration_time_s / kSecondsPerHour;
  }
  if (!result.priced) result.cost_usd = 0;
  result.average_power_w = result.energy_j / result.iteration_time_s;
  add_facility(job, result);
  if (job.training.tokens <= 0) return;
  const int learners = job.training.local_steps.learners;
  result.training_time_s = job.training.tokens / (learners * result.tokens_per_s);
  result.training_cost_usd = learners * result.cost_usd * result.training_time_s / result.iteration_time_s;
}

}  // namespace

const Job& Simulation::whole_job() const { return contexts ? contexts->job : job; }

Simulation::Simulation(Job of) : job(std::move(of)), blocks(shard_blocks(job)), plans(plan_stages(job, blocks)) {}

Program Simulation::lowered_as(const LoweringOptions& options) const {
  if (contexts) require_whole(*this, "a program");
  // The order of kernels on a GPU that ranks share needs all ranks of the GPU, and kernels as tasks.
  const bool shared = job.cluster.shares_gpus();
  LoweringOptions of_sharers = options;
  of_sharers.whole_teams = of_sharers.operators = true;
  Program out = lower(job, blocks, plans, shared ? of_sharers : options);
  out = staggered(std::move(out), job);
  if (job.cluster.perturbations().empty()) return out;
  if (out.slowest_stands_for_others) return perturbed_by_slowest(std::move(out), job, plans);
  return perturbed(std::move(out), job.cluster);
}

LoweredJob Simulation::lowered_apart_as(const LoweringOptions& options) const {
  if (contexts) require_whole(*this, "a program");
  LoweredJob out = lower_apart(job, blocks, plans, options, program.ranks.empty() ? nullptr : &program);
  if (job.cluster.perturbations().empty()) return out;
  // Links are added later: until then classes remember their traffic, and tasks the factor by which they take longer.
  Program& program_of = out.program;
  for (ClassId id = 0; id < program_of.classes.size(); ++id) {
    program_of.classes[id].traffic = out.loads.entry_of_class[id];
  }
  program_of.slower.assign(program_of.size(), 1);
  program_of = program.slowest_stands_for_others ? perturbed_by_slowest(std::move(program_of), job, plans)
                                                 : perturbed(std::move(program_of), job.cluster);
  out.loads.entry_of_class.clear();
  for (TaskClass& described : program_of.classes) {
    out.loads.entry_of_class.push_back(std::exchange(described.traffic, kNoTraffic));
  }
  return out;
}

Timeline Simulation::times_of(const Program& of, Executor executor) const {
  const std::optional<PowerFloor>& floor = job.cluster.facility().power_floor;
  if (floor && floor->ramp_up_slows_work) {
    if (job.cluster.shares_gpus()) {
      fail_infeasible({}, "cluster.power_floor.ramp_up_slows_work: not known of GPUs that ranks share",
                      "leave it out, or ranks_per_gpu");
    }
    return execute_with_ramps(*floor, plans, of, executor);
  }
  return job.cluster.shares_gpus() ? execute_sharing_gpus(of, job.cluster, executor) : execute(of, executor);
}

namespace {

// Virtual time counts picoseconds in 63 bits: 106 days.
void check_length(const IterationResult& result) {
  constexpr double kLongestDays = 100;
  for (const StageResult& stage : result.stages) {
    const double days = std::accumulate(stage.activity_s.begin(), stage.activity_s.end(), 0.0) / 86400;
    if (days < kLongestDays) continue;
    fail_infeasible({},
                    fmt::format("an iteration takes {:.0f} days: times are counted up to {:.0f}", days, kLongestDays),
                    "lower training.sequence_length or training.global_batch, or take more GPUs");
  }
}

}  // namespace

namespace {

// Computes the result, except for figures that only one timeline has. `activities` and energies are those until
// `executed_s`: the wait for other learners comes on top.
IterationResult result_of(const Simulation& simulation, std::span<const BlockMemory> of_blocks, IterationParts parts) {
  const Job& job = simulation.job;
  IterationResult result;
  result.outer = outer_step(job, simulation.plans, parts.executed_s);
  result.iteration_time_s = parts.executed_s + result.outer.exposed_s;
  count_work(simulation, parts.work, result);
  break_down(simulation, of_blocks, parts.activities, result);
  check_length(result);
  for (std::size_t plan = 0; plan < parts.energy_of_plans.size(); ++plan) {
    const StagePlan& of = simulation.plans[plan];
    const double waited_j = of.costs.hardware->hardware.gpu.blocked_w.value * of.gpus() * result.outer.exposed_s;
    parts.energy_of_plans[plan] += waited_j;
    parts.energy_j += waited_j;
  }
  add_up_costs(simulation, parts.energy_j, parts.energy_of_plans, result);
  const PredictionRange range = range_of(job, result);
  result.iteration_time_low_s = range.low_s;
  result.iteration_time_high_s = range.high_s;
  const EnergyRange energy = energy_range(job, result);
  result.energy_low_j = energy.low_j;
  result.energy_high_j = energy.high_j;
  const EnergyRange machine = machine_energy_range(job, result);
  result.machine_energy_low_j = machine.low_j;
  result.machine_energy_high_j = machine.high_j;
  const MemoryRange memory = memory_range(job, result);
  result.memory_peak_low_bytes = memory.low_bytes;
  result.memory_peak_high_bytes = memory.high_bytes;
  result.fit_probability = probability_of_fit(job, result);
  return result;
}

// Computes the result with the energy of the simulation's own program, of which no part keeps a floor.
IterationResult result_of(const Simulation& simulation, std::span<const BlockMemory> of_blocks, double executed_s,
                          std::span<const ActivitySeconds> activities) {
  return result_of(simulation, of_blocks,
                   {executed_s,
                    {activities.begin(), activities.end()},
                    energy_of_iteration(simulation.plans, simulation.program, executed_s),
                    energy_of_plans(simulation.plans, simulation.program, executed_s),
                    work_of(simulation)});
}

}  // namespace

namespace {

// Refuses remedies of power for an iteration that is executed in part.
void check_remedies_of_whole(const Facility& facility) {
  const auto refuse = [](const char* what) {
    fail_infeasible(
        {}, fmt::format("{} is not known of an iteration with so many microbatches that it is executed in part", what),
        "leave it out, or lower training.global_batch");
  };
  if (facility.power_floor) refuse("cluster.power_floor: what GPUs burn to keep it");
  if (facility.staggered_replicas) refuse("cluster.staggered_replicas: what replicas do that begin later");
}

}  // namespace

void Simulation::run(const LoweringOptions& options, Executor executor, std::span<const BlockMemory> of_blocks) {
  check_cancelled();
  const auto sums = [this] {
    const double seconds = to_seconds(timeline.makespan);
    return IterationSums{timeline.makespan, breakdown_of_plans(*this, timeline),
                         energy_of_iteration(plans, program, seconds), energy_of_plans(plans, program, seconds),
                         timeline.events};
  };
  if (is_long_iteration(job)) check_remedies_of_whole(job.cluster.facility());
  if (const auto whole = sums_of_long_iteration(*this, options, executor, sums)) {
    result = result_of(
        *this, of_blocks,
        {to_seconds(whole->time), whole->activities, whole->energy_j, whole->energy_of_plans, work_of(*this)});
    result.events = whole->events;
    return;
  }
  program = lowered_as(options);
  check_cancelled();
  timeline = times_of(program, executor);
  check_cancelled();
  account(of_blocks);
  add_power_figures();
}

void Simulation::account(std::span<const BlockMemory> of_blocks) {
  const double seconds = to_seconds(timeline.makespan);
  double energy_j = energy_of_iteration(plans, program, seconds);
  std::vector<double> of_plans = energy_of_plans(plans, program, seconds);
  const std::vector<double> of_ramps = ramp_savings_of_plans(job, plans, program, timeline);
  for (std::size_t plan = 0; plan < of_ramps.size(); ++plan) {
    of_plans[plan] -= of_ramps[plan];
    energy_j -= of_ramps[plan];
  }
  const std::vector<double> of_floor = floor_energy_of_plans(job, plans, program, timeline);
  const double floor_j = std::accumulate(of_floor.begin(), of_floor.end(), 0.0);
  for (std::size_t plan = 0; plan < of_floor.size(); ++plan) of_plans[plan] += of_floor[plan];
  result = result_of(*this, of_blocks,
                     {seconds, breakdown_of_plans(*this, timeline), energy_j + floor_j, of_plans, work_of(*this)});
  result.power_floor_energy_j = floor_j;
  result.events = timeline.events;
  result.slowest_stands_for_others = program.slowest_stands_for_others;
  if (job.cluster.shares_gpus()) result.gpu_of_others_s = seconds_of_others(program, timeline, job.cluster);
}

void Simulation::add_power_figures() { result.power = power_figures(job, plans, program, timeline); }

IterationResult mean_result(const Simulation& simulation, std::size_t count,
                            const std::function<Timeline(std::size_t)>& timeline_of) {
  Picoseconds all = 0;
  std::vector<ActivitySeconds> activities(simulation.plans.size());
  const double share = 1 / static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Timeline timeline = timeline_of(i);
    all += timeline.makespan;
    const std::vector<ActivitySeconds> one = breakdown_of_plans(simulation, timeline);
    for (std::size_t plan = 0; plan < one.size(); ++plan) {
      for (std::size_t activity = 0; activity < kActivities; ++activity) {
        activities[plan][activity] += one[plan][activity] * share;
      }
    }
  }
  IterationResult out = result_of(simulation, memory_of_blocks(simulation.job, simulation.blocks),
                                  to_seconds(all) / static_cast<double>(count), activities);
  out.slowest_stands_for_others = simulation.program.slowest_stands_for_others;
  return out;
}

IterationResult result_of_parts(const Simulation& simulation, const IterationParts& parts) {
  return result_of(simulation, memory_of_blocks(simulation.job, simulation.blocks), parts);
}

Simulation simulate(Job job, const LoweringOptions& options, Executor executor) {
  if (job.strategy.context_tokens > 0) return simulate_documents(job, options, executor);
  Simulation simulation(std::move(job));
  simulation.run(options, executor, memory_of_blocks(simulation.job, simulation.blocks));
  return simulation;
}

Simulation lowered(Job job, const LoweringOptions& options) {
  Simulation simulation(std::move(job));
  simulation.program = lower(simulation.job, simulation.blocks, simulation.plans, options);
  return simulation;
}

void set_timeline(Simulation& simulation, Timeline timeline) {
  simulation.timeline = std::move(timeline);
  simulation.account(memory_of_blocks(simulation.job, simulation.blocks));
  simulation.add_power_figures();
}

namespace {

// Returns false if the memory of some stage is not the expected one.
bool keeps_memory(const Simulation& simulation, std::span<const BlockMemory> of_blocks,
                  const IterationResult& expected) {
  std::vector<StageMemory> memory = account_memory(simulation.job, simulation.blocks, simulation.plans, of_blocks);
  add_reserves(simulation.job, simulation.blocks, simulation.plans, memory);
  return std::equal(memory.begin(), memory.end(), expected.stages.begin(), expected.stages.end(),
                    [](const StageMemory& own, const StageResult& stage) { return own == stage.memory; });
}

// Returns false if the program, which has not been executed, needs another energy than expected even if it takes the
// expected time.
bool may_have_energy(const Simulation& simulation, const IterationResult& expected) {
  const Job& job = simulation.job;
  const Facility& facility = job.cluster.facility();
  if (facility.power_floor || job.training.local_steps.any()) return true;  // energy follows from times, too
  return energy_of_iteration(simulation.plans, simulation.program, expected.iteration_time_s) == expected.energy_j;
}

}  // namespace

// Most jobs that differ show it before they are executed.
bool has_result(Job job, const IterationResult& expected) {
  if (job.strategy.context_tokens > 0) {
    IterationResult result = simulate_documents(job, {}, Executor::automatic).result;
    result.events = expected.events;
    return result == expected;
  }
  Simulation simulation(std::move(job));
  const std::vector<BlockMemory> memory = memory_of_blocks(simulation.job, simulation.blocks);
  const auto is_expected = [&] {
    simulation.result.events = expected.events;
    return simulation.result == expected;
  };
  if (!keeps_memory(simulation, memory, expected)) return false;
  if (is_long_iteration(simulation.job)) {
    simulation.run({}, Executor::automatic, memory);
    return is_expected();
  }
  simulation.program = simulation.lowered_as({});
  if (!may_have_energy(simulation, expected)) return false;
  simulation.timeline = simulation.times_of(simulation.program);
  if (seconds_of(simulation, simulation.timeline.makespan) != expected.iteration_time_s) return false;
  simulation.account(memory);
  simulation.result.power = expected.power;
  if (!is_expected()) return false;
  simulation.add_power_figures();
  return is_expected();
}

}  // namespace mirfak
