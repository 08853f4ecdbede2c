#include "training/course.hpp"

#include "base/error.hpp"
#include "base/units.hpp"
#include "model/model_spec.hpp"
#include "program/quantization_of_job.hpp"
#include "strategy/rules.hpp"
#include "training/estimate.hpp"
#include "training/renewal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mirfak {

namespace {

constexpr double kLeastGoodput = 1e-2;

// Tokens of an iteration, of all learners.
double tokens_of(const Job& job, std::int64_t batch) {
  return job.training.tokens_of(batch) * job.training.local_steps.learners;
}

std::int64_t full_iterations(const Job& job, const Operations& operations, const IterationResult& full) {
  std::int64_t left = 0;
  if (operations.gpu_hours > 0) {
    const double gpus = static_cast<double>(full.gpus) * job.training.local_steps.learners;
    left = std::llround(operations.gpu_hours * kSecondsPerHour / gpus / full.iteration_time_s);
    for (const RampStep& step : operations.ramp) left -= step.iterations;
  } else {
    left = stated_iterations(job, operations);
  }
  if (left > 0) return left;
  fail_infeasible(operations.where, "operations.batch_ramp: the ramp is as long as the training",
                  "shorten it, or lengthen the training");
}

double idle_w(const Cluster& cluster) {
  double watts = 0;
  for (const NodeGroup& group : cluster.groups()) {
    watts += group.hardware.gpu.idle_w.value * group.gpus() / group.hardware.spec.ranks_per_gpu;
  }
  return watts;
}

// Power of the machine by its parts. Spares wait, and are like the first node.
struct MachinePower {
  double idle_gpus_w = 0;
  double spare_gpus_w = 0;
  double around_idle_w = 0;     // hosts, network and hosts of spares, while nodes have no work
  double around_working_w = 0;  // the same while they work

  double waiting_w() const { return idle_gpus_w + spare_gpus_w + around_idle_w; }
  double training_w(double gpus_w) const { return gpus_w + spare_gpus_w + around_working_w; }
};

MachinePower power_of(const Cluster& cluster, int spares) {
  const NodeSpec& spec = cluster.groups().front().hardware.spec;
  MachinePower out;
  out.idle_gpus_w = idle_w(cluster);
  for (const NodeGroup& group : cluster.groups()) {
    if (group.first_node > 0) break;
    const NodeHardware& of = group.hardware;
    out.spare_gpus_w += spares * of.gpu.idle_w.value * of.spec.gpus_of_kind() / of.spec.ranks_per_gpu;
  }
  const double always_w = cluster.facility().network_power_w + spares * spec.idle_host_w();
  out.around_idle_w = cluster.idle_host_power_w() + always_w;
  out.around_working_w = cluster.host_power_w() + always_w;
  return out;
}

std::int64_t iterations_of_last(const LastIterations& last, std::int64_t full) {
  const auto iterations = std::llround(last.share * static_cast<double>(full));
  if (iterations > 0 && iterations < full) return iterations;
  fail_infeasible(last.where,
                  fmt::format("operations.last_iterations: {} of {} iterations are {}", last.share, full,
                              iterations > 0 ? "all of them" : "none"),
                  "change share, or leave it out");
}

WorkPhase phase_of(const IterationResult& result, std::int64_t iterations, const MachinePower& power) {
  return {iterations, result.iteration_time_s, power.training_w(result.energy_j / result.iteration_time_s)};
}

double write_seconds(const Job& job, const CheckpointPlan& plan) {
  if (plan.write_s) return *plan.write_s;
  if (plan.storage_bandwidth == 0 && plan.node_bandwidth == 0) return 0;
  double rate = plan.storage_bandwidth > 0 ? plan.storage_bandwidth : std::numeric_limits<double>::infinity();
  if (plan.node_bandwidth > 0) rate = std::min(rate, plan.node_bandwidth * (plan.sharded ? job.cluster.nodes() : 1));
  return checkpoint_bytes(job, plan) / rate;
}

CheckpointTier tier_of(const Job& job, const CheckpointPlan& plan, bool in_memory) {
  CheckpointTier tier;
  const double seconds = write_seconds(job, plan);
  tier.stall_s = plan.asynchronous ? plan.stall_s : seconds;
  tier.write_s = plan.asynchronous ? seconds : 0;
  tier.read_s = plan.read_s.value_or(plan.write_s ? 0 : seconds);
  tier.in_memory = in_memory;
  tier.survives = plan.survives;
  return tier;
}

// Sets the interval of a tier: the stated or the best one.
void set_interval(TrainingCourse& course, std::vector<CheckpointTier>& tiers, std::size_t tier,
                  const CheckpointPlan& plan) {
  CheckpointTier& of = tiers[tier];
  const double iteration_s = course.calendar.phases().back().iteration_s;
  const double least = of.stall_s + of.write_s;
  if (plan.interval_s && *plan.interval_s < least) {
    fail_infeasible(plan.where,
                    fmt::format("a checkpoint takes {}, longer than its interval of {}", format_seconds(least),
                                format_seconds(*plan.interval_s)),
                    fmt::format("save every {} or less often, or faster", format_seconds(std::ceil(least))));
  }
  of.interval_s = plan.interval_s.value_or(0);
  if (plan.interval_s) return;
  course.calendar = WorkCalendar(course.calendar.phases(), tiers, {});
  const double best = best_interval(renewal_case(course, tier));
  const double all = course.calendar.work_until(course.calendar.iterations());
  of.interval_s = std::min(all, std::max(best, std::ceil(of.write_s / iteration_s) * iteration_s));
}

void check_spares(const TrainingCourse& course, const Operations& operations) {
  if (course.nodes_per_replica > 0 || !course.failures.log.empty()) return;
  if (share_of_time_complete(course) >= kLeastGoodput) return;
  fail_infeasible(operations.failures_where,
                  fmt::format("this training does not end: with {} spares, the nodes in service are enough for it less "
                              "than {:.0f} % of the time",
                              course.spares, 100 * kLeastGoodput),
                  "raise operations.spares, lower operations.repair_s, or write operations.without_spares: shrink");
}

void check_hope(const TrainingCourse& course, const Operations& operations) {
  check_spares(course, operations);
  const std::size_t tier = course.calendar.tiers().size() - 1;
  const RenewalCase renewal = renewal_case(course, tier);
  const double interval =
      static_cast<double>(course.calendar.iterations_between_saves(tier)) * course.calendar.phases().back().iteration_s;
  if (renewal_goodput(renewal, interval) >= kLeastGoodput) return;
  fail_infeasible(
      operations.failures_where,
      fmt::format("this training does not end: a failure comes every {} on average, and a restart and the next "
                  "checkpoint need {} without one",
                  format_seconds(1 / renewal.rate),
                  format_seconds(renewal.restart_s + interval + renewal.stall_s + renewal.write_s)),
      "save more often, restart faster, or make failures rarer");
}

int nodes_of_replica(const Job& job) {
  return std::max(1, static_cast<int>(std::ceil(static_cast<double>(job.cluster.nodes()) / job.strategy.data)));
}

RunningCosts costs_of(const Job& job, const IterationResult& full, const MachinePower& power) {
  const Facility& facility = job.cluster.facility();
  RunningCosts costs;
  costs.usd_per_node_s = full.priced ? full.cost_usd / full.iteration_time_s / job.cluster.nodes() : 0;
  costs.idle_w = power.waiting_w();
  costs.around_idle_w = power.around_idle_w;
  costs.around_working_w = power.around_working_w;
  costs.pue = facility.pue;
  costs.cooling_w = facility.cooling_power_w;
  costs.carbon = facility.carbon;
  return costs;
}

// Returns the state that learners have of each other, as a tier: a learner that comes back takes it from another one,
// and has lost its own steps since the last exchange. Whatever takes its nodes leaves it alone.
CheckpointTier joined_state(const Job& job, const Operations& operations, const IterationResult& full) {
  const LocalSteps& of = job.training.local_steps;
  CheckpointPlan plan;
  plan.where = operations.where;
  CheckpointTier tier;
  tier.interval_s = of.every * full.iteration_time_s;
  tier.write_s = of.delay * full.iteration_time_s;
  tier.read_s = checkpoint_bytes(job, plan) / full.outer.bandwidth;
  tier.in_memory = true;
  tier.survives = job.cluster.nodes();
  return tier;
}

void set_learners(const Job& job, const Operations& operations, TrainingCourse& course) {
  course.learners = job.training.local_steps.learners;
  course.quorum = operations.quorum;
  course.reconfiguration_s = operations.reconfiguration_s;
  if (course.learners == 1 && operations.quorum_where) {
    fail_infeasible(*operations.quorum_where, "there is one learner, which waits for no other",
                    "state training.local_steps, or leave it out");
  }
  if (course.learners > 1 && !operations.failures.log.empty()) {
    fail_infeasible(operations.failures_where, "operations.failures.log does not say which learner a failure struck",
                    "write rates in its stead, or leave training.local_steps out");
  }
  if (course.quorum > course.learners) {
    fail_infeasible(*operations.quorum_where,
                    fmt::format("{} learners cannot be a quorum of {}", course.learners, course.quorum),
                    fmt::format("write at most {}", course.learners));
  }
}

void add_checkpoints(const Job& job, const Operations& operations, const IterationResult& full,
                     TrainingCourse& course) {
  std::vector<CheckpointTier> tiers = checkpoint_tiers(job, operations);
  if (course.learners > 1 && !operations.memory) tiers.insert(tiers.begin(), joined_state(job, operations, full));
  if (operations.memory) set_interval(course, tiers, 0, *operations.memory);
  if (operations.storage) set_interval(course, tiers, tiers.size() - 1, *operations.storage);
  course.calendar = WorkCalendar(course.calendar.phases(), tiers, operations.evaluation);
}

}  // namespace

std::int64_t stated_iterations(const Job& job, const Operations& operations) {
  std::int64_t ramp = 0;
  double ramp_tokens = 0;
  for (const RampStep& step : operations.ramp) {
    ramp += step.iterations;
    ramp_tokens += static_cast<double>(step.iterations) * tokens_of(job, step.global_batch);
  }
  if (operations.iterations > 0) return operations.iterations - ramp;
  if (job.training.tokens > 0) {
    const double tokens = job.training.tokens - ramp_tokens;
    return static_cast<std::int64_t>(std::ceil(tokens / tokens_of(job, job.training.global_batch)));
  }
  fail_infeasible(operations.where, "operations: how long the training is stands nowhere",
                  "write training.tokens, operations.iterations or operations.gpu_hours");
}

std::vector<CheckpointTier> checkpoint_tiers(const Job& job, const Operations& operations) {
  std::vector<CheckpointTier> out;
  if (operations.memory) out.push_back(tier_of(job, *operations.memory, true));
  out.push_back(operations.storage ? tier_of(job, *operations.storage, false) : CheckpointTier{});
  return out;
}

double checkpoint_bytes(const Job& job, const CheckpointPlan& plan) {
  if (plan.bytes > 0) return plan.bytes;
  const TrainingSpec& training = job.training;
  if (training.optimizer != Optimizer::adam || training.adapters.rank > 0 || training.narrow_states() ||
      training.low_rank_gradients.any()) {
    fail_infeasible(plan.where, "the size of a checkpoint of this optimizer is not known",
                    "write bytes or write_s of the checkpoint");
  }
  const double of_parameter = bytes_per_element(job.precision()) + (job.precision() == Precision::fp16
                                                                        ? job.framework.memory.optimizer_bytes_fp16
                                                                        : job.framework.memory.optimizer_bytes);
  const ParameterCount count = count_parameters(job.model);
  return (count.total + count.prediction) * of_parameter;
}

Job job_of_step(Job job, const RampStep& step) {
  job.training.global_batch = step.global_batch;
  const auto broken = first_violation({job.model, job.training, job.framework, job.strategy, job.cluster.gpus()});
  if (broken) fail_infeasible(step.where, "operations.batch_ramp: " + broken->message, broken->hint);
  return job;
}

Job job_of_last(Job job, const LastIterations& last) {
  const std::string name = "operations.last_iterations.precision";
  if (job.training.local_steps.any()) {
    fail_infeasible(last.where, "operations.last_iterations: learners change to no other precision",
                    "leave it out, or training.local_steps");
  }
  job.training.precision = last.precision;
  for (const NodeGroup& group : job.cluster.groups()) {
    const std::optional<FormatObstacle> obstacle = format_obstacle(group.hardware.gpu, job);
    if (obstacle) fail_infeasible(last.where, fmt::format("{}: {}", name, obstacle->message), "choose another");
  }
  const auto broken = first_violation({job.model, job.training, job.framework, job.strategy, job.cluster.gpus()});
  if (broken) fail_infeasible(last.where, fmt::format("{}: {}", name, broken->message), broken->hint);
  return job;
}

double nameplate_energy_j(const Job& job, const Operations& operations, double gpu_seconds) {
  if (operations.nameplate_power_w > 0) return operations.nameplate_power_w * gpu_seconds;
  double watts = 0;
  for (const NodeGroup& group : job.cluster.groups()) {
    watts += group.hardware.gpu.limit_w() * group.gpus() / group.hardware.spec.ranks_per_gpu;
  }
  return watts / job.cluster.physical_gpus() * gpu_seconds;
}

TrainingCourse training_course(const Job& job, const Operations& operations, std::span<const IterationResult> phases) {
  const MachinePower power = power_of(job.cluster, operations.spares);
  std::vector<WorkPhase> work;
  for (std::size_t step = 0; step < operations.ramp.size(); ++step) {
    work.push_back(phase_of(phases[step], operations.ramp[step].iterations, power));
  }
  const IterationResult& full = phases[operations.ramp.size()];
  const std::int64_t left = full_iterations(job, operations, full);
  const std::int64_t last = operations.last ? iterations_of_last(*operations.last, left) : 0;
  work.push_back(phase_of(full, left - last, power));
  if (last > 0) work.push_back(phase_of(phases.back(), last, power));
  TrainingCourse course{WorkCalendar(work, {CheckpointTier{}}, {})};
  course.failures = operations.failures;
  course.detection_s = operations.detection_s;
  course.restart_s = operations.restart_s;
  course.nodes = job.cluster.nodes();
  course.spares = operations.spares;
  course.nodes_per_replica = operations.shrinks ? nodes_of_replica(job) : 0;
  course.maintenance = operations.maintenance;
  course.costs = costs_of(job, full, power);
  set_learners(job, operations, course);
  add_checkpoints(job, operations, full, course);
  if (course.failures.rate_per_s() > 0) check_hope(course, operations);
  return course;
}

}  // namespace mirfak
