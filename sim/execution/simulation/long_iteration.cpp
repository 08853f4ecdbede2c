// A pipeline of equal microbatches repeats itself: q microbatches later each task starts some time later, and this
// shift is the same for the next q microbatches. The execution of an iteration is linear in max-plus algebra, so this
// goes on for ever if
//
//   - the shifts of all tasks are the same over two periods in a row, and
//   - no task waits for a task whose shift is larger than its own (such a task catches up some day), and
//   - the task that each task waits for longest has the same shift (Baccelli, Cohen, Olsder, Quadrat,
//     Synchronization and Linearity, 1992, chapter 3, on eventual periodicity).
//
// Times are whole picoseconds, and all these conditions are tested on them. Three iterations that differ by q
// microbatches then give the time of warm-up and cool-down, and the growth of the iteration per q microbatches. Tasks
// that share links are not linear in this sense, and are executed whole.
#include "simulation/long_iteration.hpp"

#include "base/error.hpp"
#include "program/lowering.hpp"
#include "program/replica_classes.hpp"
#include "simulation/document_contexts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace mirfak {

namespace {

constexpr double kLongPasses = 1 << 20;  // passes of all stages together: an iteration with more is long

// Returns the period of the schedule itself, in microbatches.
int period_of_schedule(const Strategy& strategy) {
  const PipelineShape shape = pipeline_shape(strategy, 1);
  return std::lcm(2, shape.chunks > 1 ? shape.group : 1);
}

// Returns a number of microbatches with which warm-up is over in the middle, with room for several of the longest
// period that is tried.
int microbatches_to_execute(const Strategy& strategy) {
  const PipelineShape shape = pipeline_shape(strategy, 1);
  return 16 * (shape.stages * shape.chunks + shape.group) + 64 * period_of_schedule(strategy);
}

bool has_equal_microbatches(const Simulation& simulation) {
  const Job& job = simulation.job;
  const Schedule& schedule = schedule_of(job.strategy.schedule);
  return job.strategy.stages.empty() && job.strategy.replica_microbatches.empty() && !schedule.needs_times &&
         schedule.path.empty() && !job.cluster.shares_gpus() && job.cluster.perturbations().empty() && folds(job) &&
         classes_of(simulation.plans) == 1;
}

// Tasks of one timeline by stream and microbatch.
class SteadyState {
 public:
  SteadyState(const Program& program, const Timeline& timeline, int microbatches)
      : program_(program),
        timeline_(timeline),
        microbatches_(static_cast<std::size_t>(microbatches)),
        of_(program.streams.size() * microbatches_),
        place_(program.size()),
        before_(program.size(), kNone) {
    std::vector<TaskId> last(program.streams.size(), kNone);
    for (TaskId task = 0; task < program.size(); ++task) {
      before_[task] = std::exchange(last[program.stream[task]], task);
      if (program.microbatch[task] < 0) continue;
      std::vector<TaskId>& tasks = at(program.stream[task], program.microbatch[task]);
      place_[task] = tasks.size();
      tasks.push_back(task);
    }
  }

  bool repeats_after(int period) {
    period_ = period;
    const int first = static_cast<int>(microbatches_) / 2;
    if (first < 2 * period || first + 3 * period > static_cast<int>(microbatches_) * 3 / 4) return false;
    for (StreamId stream = 0; stream < program_.streams.size(); ++stream) {
      for (int microbatch = first; microbatch < first + 2 * period; ++microbatch) {
        if (!repeats(at(stream, microbatch))) return false;
      }
    }
    return true;
  }

 private:
  static constexpr TaskId kNone = std::numeric_limits<TaskId>::max();

  std::vector<TaskId>& at(StreamId stream, int microbatch) {
    return of_[stream * microbatches_ + static_cast<std::size_t>(microbatch)];
  }

  // Returns the corresponding task a period before; kNone: none.
  TaskId earlier(TaskId task) {
    const int microbatch = program_.microbatch[task] - period_;
    if (program_.microbatch[task] < 0 || microbatch < 0) return kNone;
    const std::vector<TaskId>& tasks = at(program_.stream[task], microbatch);
    if (place_[task] >= tasks.size()) return kNone;
    const TaskId found = tasks[place_[task]];
    return program_.task_class[found] == program_.task_class[task] ? found : kNone;
  }

  std::optional<Picoseconds> shift(TaskId task) {
    const TaskId before = earlier(task);
    if (before == kNone || program_.duration[before] != program_.duration[task]) return std::nullopt;
    const Picoseconds out = timeline_.end[task] - timeline_.end[before];
    if (out != timeline_.start[task] - timeline_.start[before]) return std::nullopt;
    return out;
  }

  bool repeats(const std::vector<TaskId>& tasks) {
    return std::all_of(tasks.begin(), tasks.end(), [&](TaskId task) {
      const TaskId before = earlier(task);
      if (before == kNone) return false;
      const std::size_t later = at(program_.stream[task], program_.microbatch[task]).size();
      const std::size_t as_many = at(program_.stream[task], program_.microbatch[before]).size();
      const std::optional<Picoseconds> own = shift(task);
      return later == as_many && own && own == shift(before) && keeps(task, *own);
    });
  }

  // True if the task will keep the shift `own` for ever.
  bool keeps(TaskId task, Picoseconds own) {
    bool bound = timeline_.start[task] == 0;
    bool overtaken = false;
    const auto look = [&](TaskId other) {
      const std::optional<Picoseconds> of_other = shift(other);
      if (!of_other || *of_other > own) overtaken = true;
      if (of_other == own && timeline_.end[other] == timeline_.start[task]) bound = true;
    };
    if (before_[task] != kNone) look(before_[task]);
    for (const TaskId other : program_.dependencies_of(task)) look(other);
    return bound && !overtaken;
  }

  const Program& program_;
  const Timeline& timeline_;
  std::size_t microbatches_;
  std::vector<std::vector<TaskId>> of_;
  std::vector<std::size_t> place_;
  std::vector<TaskId> before_;  // previous task on the same stream
  int period_ = 0;
};

// Replaces the whole iteration by iterations of fewer microbatches; the destructor restores the orders of passes.
class Shortened {
 public:
  Shortened(Simulation& simulation, const LoweringOptions& options, Executor executor)
      : simulation_(simulation),
        options_(options),
        executor_(executor),
        batch_(simulation.job.training.global_batch),
        microbatches_(simulation.plans.front().replicas.microbatches) {
    for (StagePlan& plan : simulation.plans) orders_.push_back(std::move(plan.order));
  }
  ~Shortened() {
    simulation_.job.training.global_batch = batch_;
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      simulation_.plans[i].replicas.microbatches = microbatches_;
      simulation_.plans[i].order = std::move(orders_[i]);
    }
  }
  Shortened(const Shortened&) = delete;
  Shortened& operator=(const Shortened&) = delete;

  void execute(int count) {
    simulation_.job.training.global_batch = batch_ / microbatches_ * count;
    for (StagePlan& plan : simulation_.plans) plan.replicas.microbatches = count;
    order_passes(simulation_.job, simulation_.blocks, simulation_.plans);
    simulation_.timeline = {};
    simulation_.program = simulation_.lowered_as(options_);
    simulation_.timeline = simulation_.times_of(simulation_.program, executor_);
  }

 private:
  Simulation& simulation_;
  const LoweringOptions& options_;
  Executor executor_;
  std::int64_t batch_;
  int microbatches_;
  std::vector<std::vector<Pass>> orders_;
};

int steady_period(Simulation& simulation, int microbatches) {
  SteadyState steady(simulation.program, simulation.timeline, microbatches);
  const int base = period_of_schedule(simulation.job.strategy);
  for (const int times : {1, 2, 3, 4, 6}) {
    if (steady.repeats_after(times * base)) return times * base;
  }
  return 0;
}

bool grows_alike(const IterationSums& a, const IterationSums& b, const IterationSums& c) {
  constexpr double kRoundingOfSums = 1e-9;
  if (b.time - a.time != c.time - b.time) return false;
  for (std::size_t plan = 0; plan < a.activities.size(); ++plan) {
    for (std::size_t i = 0; i < kActivities; ++i) {
      const double first = b.activities[plan][i] - a.activities[plan][i];
      const double second = c.activities[plan][i] - b.activities[plan][i];
      if (std::abs(second - first) > kRoundingOfSums * c.activities[plan][i] + 1e-12) return false;
    }
  }
  return true;
}

// Returns `c` plus `times` the difference of `c` and `b`.
IterationSums grown(const IterationSums& b, const IterationSums& c, std::int64_t times) {
  const auto factor = static_cast<double>(times);
  const auto grow = [factor](double from, double to) { return to + factor * (to - from); };
  const double picoseconds = grow(static_cast<double>(b.time), static_cast<double>(c.time));
  if (picoseconds > 0.9 * static_cast<double>(std::numeric_limits<Picoseconds>::max())) {
    fail_infeasible({},
                    fmt::format("an iteration takes {:.0f} days: times are counted up to 100", picoseconds / 8.64e16),
                    "lower training.sequence_length or training.global_batch, or take more GPUs");
  }
  IterationSums out = c;
  out.time += times * (c.time - b.time);
  out.events += static_cast<std::uint64_t>(times) * (c.events - b.events);
  out.energy_j = grow(b.energy_j, c.energy_j);
  for (std::size_t plan = 0; plan < out.activities.size(); ++plan) {
    out.energy_of_plans[plan] = grow(b.energy_of_plans[plan], c.energy_of_plans[plan]);
    for (std::size_t i = 0; i < kActivities; ++i) {
      out.activities[plan][i] = grow(b.activities[plan][i], c.activities[plan][i]);
    }
  }
  return out;
}

}  // namespace

std::optional<IterationSums> sums_of_long_iteration(Simulation& simulation, const LoweringOptions& options,
                                                    Executor executor, const std::function<IterationSums()>& sums) {
  if (!is_long_iteration(simulation.job) || options.unfolded || options.operators) return std::nullopt;
  if (!has_equal_microbatches(simulation)) return std::nullopt;
  const int all = simulation.plans.front().replicas.microbatches;
  int first = microbatches_to_execute(simulation.job.strategy);
  first += (all - first) % period_of_schedule(simulation.job.strategy);
  if (2 * first > all ||
      schedule_of(simulation.job.strategy.schedule)
          .unfit(pipeline_shape(simulation.job.strategy, first + period_of_schedule(simulation.job.strategy)))) {
    return std::nullopt;
  }

  Shortened shortened(simulation, options, executor);
  shortened.execute(first);
  const int period = simulation.program.shares_links() ? 0 : steady_period(simulation, first);
  if (period == 0) return std::nullopt;
  first += (all - first) % period;
  std::vector<IterationSums> of;
  for (const int more : {0, 1, 2}) {
    shortened.execute(first + more * period);
    of.push_back(sums());
  }
  if (!grows_alike(of[0], of[1], of[2])) return std::nullopt;
  return grown(of[1], of[2], (all - first) / period - 2);
}

bool is_long_iteration(const Job& job) {
  const PipelineShape shape = pipeline_shape(job.strategy, microbatches(job.strategy, job.training));
  return 2.0 * shape.stages * shape.chunks * shape.microbatches > kLongPasses;
}

bool is_executed_in_part(const Simulation& simulation) {
  if (simulation.contexts) return !simulation.contexts->alike;
  const std::vector<std::int32_t>& of = simulation.program.microbatch;
  if (of.empty() || simulation.plans.empty()) return false;
  if (!is_long_iteration(simulation.job)) return false;
  return 2 * (*std::max_element(of.begin(), of.end()) + 1) <= simulation.plans.front().replicas.microbatches;
}

void require_whole(const Simulation& simulation, std::string_view what) {
  if (!is_executed_in_part(simulation)) return;
  if (simulation.contexts) {
    fail_infeasible({},
                    fmt::format("{} shows every task, and with strategy.context_tokens the documents of each length "
                                "are executed apart",
                                what),
                    "leave it out, or simulate documents of one length");
  }
  fail_infeasible({},
                  fmt::format("{} shows every task, and an iteration of {} microbatches has too many", what,
                              simulation.plans.front().replicas.microbatches),
                  "lower training.global_batch: more microbatches repeat what fewer do");
}

}  // namespace mirfak
