#include "alpa/planner.hpp"

#include "alpa/neighbours.hpp"
#include "alpa/stage_profile.hpp"
#include "base/parallel.hpp"
#include "base/stopwatch.hpp"
#include "simulation/score.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace mirfak::alpa {

namespace {

constexpr std::size_t kExecuted = 20;  // plans of a level executed first, with alike and unlike stages each
constexpr std::size_t kChanged = 4;    // executed plans from which changes are tried
constexpr int kRounds = 12;            // rounds of changes; each takes the best change of one property

class Planner {
 public:
  Planner(const Job& job, const SearchSpec& spec, const PlannerOptions& options, const SearchProgress& progress,
          const SearchStop& stop)
      : job_(job), spec_(spec), options_(options), progress_(progress), stop_(stop) {}

  PlannerOutcome run() {
    const WallClock::time_point begin = WallClock::now();
    if (options_.levels == Levels::both) {
      run_level(Levels::both);
      run_level(Levels::intra_only);
      run_level(Levels::inter_only);
    } else {
      run_level(options_.levels);
    }
    std::stable_sort(found_.begin(), found_.end(), faster);
    keep_best();
    if (!out_.plans.empty() && !stops()) out_.plans.front().gain = gain_of(out_.plans.front().plan);
    out_.total_s = seconds_since(begin);
    return std::move(out_);
  }

 private:
  static double time_of(const ExecutedPlan& plan) { return plan.simulated.iteration.iteration_time_s; }
  static bool faster(const ExecutedPlan& a, const ExecutedPlan& b) { return time_of(a) < time_of(b); }

  bool stops() {
    if (stop_ && stop_()) out_.complete = false;
    return !out_.complete;
  }

  void run_level(Levels levels) {
    if (stops()) return;
    WallClock::time_point begin = WallClock::now();
    ModelPlans plans = plan_model(job_, spec_, levels, options_.threads, stop_);
    out_.effort += plans.effort;
    out_.complete = out_.complete && plans.complete;
    out_.planned += static_cast<std::int64_t>(plans.plans.size());
    out_.plan_s += seconds_since(begin);
    begin = WallClock::now();
    std::erase_if(plans.plans, [&](const ModelPlan& plan) { return !may_run(job_, spec_, plan.strategy); });
    std::vector<ExecutedPlan> fit = executed(plans.plans);
    std::stable_sort(fit.begin(), fit.end(), faster);
    for (ExecutedPlan* plan : of_different_shapes(fit)) change(*plan, levels);
    found_.insert(found_.end(), std::make_move_iterator(fit.begin()), std::make_move_iterator(fit.end()));
    out_.execute_s += seconds_since(begin);
  }

  // Executes the first plans, with those whose stages are alike in a row of their own; executes more plans if none of
  // them fits.
  std::vector<ExecutedPlan> executed(const std::vector<ModelPlan>& plans) {
    std::vector<const ModelPlan*> order;
    for (const bool alike : {false, true}) {
      std::size_t some = 0;
      for (const ModelPlan& plan : plans) {
        if (alike == plan.strategy.stages.empty() && some++ < kExecuted) order.push_back(&plan);
      }
    }
    std::vector<ExecutedPlan> out = executed(order);
    for (std::size_t first = 0; first < plans.size() && out.empty() && !stops(); first += kExecuted) {
      order.clear();
      for (std::size_t i = first; i < std::min(first + kExecuted, plans.size()); ++i) order.push_back(&plans[i]);
      out = executed(order);
    }
    return out;
  }
  std::vector<ExecutedPlan> executed(const std::vector<const ModelPlan*>& plans) {
    std::vector<ExecutedPlan> out;
    std::vector<Strategy> strategies;
    for (const ModelPlan* plan : plans) strategies.push_back(plan->strategy);
    std::vector<std::optional<SimulatedStrategy>> simulated = execute(strategies);
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (!simulated[i]) continue;
      const double seconds = simulated[i]->iteration.iteration_time_s;
      out.push_back({std::move(*simulated[i]), *plans[i], seconds, std::nullopt});
    }
    return out;
  }

  // Returns the first plans with different stages.
  static std::vector<ExecutedPlan*> of_different_shapes(std::vector<ExecutedPlan>& plans) {
    std::vector<ExecutedPlan*> out;
    for (ExecutedPlan& plan : plans) {
      const bool known = std::any_of(out.begin(), out.end(), [&](const ExecutedPlan* of) {
        return same_groups(of->plan.strategy, plan.plan.strategy);
      });
      if (!known && out.size() < kChanged) out.push_back(&plan);
    }
    return out;
  }
  static bool same_groups(const Strategy& a, const Strategy& b) {
    return a.tensor == b.tensor && a.pipeline == b.pipeline && a.data == b.data && a.expert == b.expert &&
           a.stages == b.stages;
  }

  // Makes the changes that gain most, one after the other.
  void change(ExecutedPlan& plan, Levels levels) {
    for (int round = 0; round < kRounds && !stops(); ++round) {
      std::vector<Strategy> others = neighbours(job_, spec_, plan.simulated.found.job.strategy);
      std::erase_if(others, [&](const Strategy& of) { return !of_level(of, levels) || known(of); });
      out_.changes += static_cast<std::int64_t>(others.size());
      std::optional<SimulatedStrategy> best;
      for (std::optional<SimulatedStrategy>& other : execute(others)) {
        if (!other) continue;
        const double least = best ? best->iteration.iteration_time_s : time_of(plan);
        if (other->iteration.iteration_time_s < least) best = std::move(other);
      }
      if (!best) return;
      plan.simulated = std::move(*best);
    }
  }

  static bool of_level(const Strategy& strategy, Levels levels) {
    if (levels == Levels::intra_only) return strategy.pipeline == 1;
    return levels == Levels::both || strategy.ranks() == strategy.pipeline;
  }

  // Executes strategies by the engine, in parallel; nothing for strategies that do not fit.
  std::vector<std::optional<SimulatedStrategy>> execute(const std::vector<Strategy>& strategies) {
    std::vector<std::optional<SimulatedStrategy>> out(strategies.size());
    std::vector<double> shortages(strategies.size());
    parallel_for(
        strategies.size(), [&](std::size_t i) { out[i] = simulated(strategies[i], shortages[i]); }, options_.threads);
    for (std::size_t i = 0; i < out.size(); ++i) {
      ++out_.executed;
      if (out[i]) ++out_.fitting;
      const double shortage = shortages[i];
      if (shortage > 0 && (out_.least_shortage_bytes == 0 || shortage < out_.least_shortage_bytes)) {
        out_.least_shortage_bytes = shortage;
      }
    }
    if (progress_) progress_(out_.executed, out_.executed);
    return out;
  }

  std::optional<SimulatedStrategy> simulated(const Strategy& strategy, double& shortage) const {
    const WallClock::time_point begin = WallClock::now();
    Job job = job_;
    job.strategy = strategy;
    const IterationResult result = mirfak::simulate(job).result;
    shortage = room_of(result, memory_limit(job, spec_)).shortage;
    if (shortage > 0) return std::nullopt;
    FoundStrategy found{std::move(job), result.iteration_time_s, result.cost_usd, result.energy_j, {}, {}};
    return SimulatedStrategy{std::move(found), result, seconds_since(begin)};
  }

  // Returns true if a strategy was seen before; from now on it is.
  bool known(const Strategy& strategy) {
    if (std::find(seen_.begin(), seen_.end(), strategy) != seen_.end()) return true;
    seen_.push_back(strategy);
    return false;
  }

  // Keeps the best plan of each layout.
  void keep_best() {
    for (ExecutedPlan& plan : found_) {
      if (static_cast<int>(out_.plans.size()) >= options_.top) return;
      const Strategy& own = plan.simulated.found.job.strategy;
      const bool known = std::any_of(out_.plans.begin(), out_.plans.end(), [&](const ExecutedPlan& better) {
        return same_groups(better.simulated.found.job.strategy, own);
      });
      if (!known) out_.plans.push_back(std::move(plan));
    }
  }

  // Blocks of one submesh, each planned twice.
  struct Freed {
    MeshPlan expressible;
    MeshPlan any;
    StageProfile profile;
  };
  Freed freed(const ModelPlan& plan, const ModelStage& stage, const StageClasses& classes) const {
    Job job = job_;
    job.strategy = plan.strategy;
    job.strategy.stages.clear();
    job.strategy.layer_split.clear();
    job.strategy.pipeline = 1;
    job.strategy.tensor = stage.columns;
    job.strategy.data = stage.rows;
    job.strategy.micro_batch = plan.strategy.micro_batch * plan.strategy.data / stage.rows;
    job.strategy.expert = 1;
    if (job.strategy.recompute != Recompute::none) job.strategy.recompute_layers = 1;
    ShardedBlocks blocks = shard_blocks(job);
    const StageCosts costs(job, replica_classes(job), 0, 0);
    const LogicalMesh mesh =
        logical_mesh(job_.cluster, stage.submesh.nodes, stage.submesh.gpus, stage.rows, stage.columns);
    const MeshSite site = {job, blocks, costs, mesh};
    MeshPlan expressible = plan_mesh(site, stage.shape.expert > 1 ? Freedom::expressible : Freedom::experts_whole);
    MeshPlan any = plan_mesh(site, Freedom::any, WithinPlan{expressible, stage.in_flight});
    return {std::move(expressible), std::move(any), StageProfile(std::move(job), std::move(blocks), classes)};
  }

  FreedomGain gain_of(const ModelPlan& plan) const {
    const StageClasses classes(job_);
    std::map<std::tuple<int, int, bool, int>, Freed> known;
    const StateOfStages state = {plan.strategy.zero, plan.strategy.recompute_layers};
    FreedomGain out;
    std::array<double, 2> sums{};
    std::array<double, 2> slowest{};
    for (const ModelStage& stage : plan.stages) {
      const std::tuple key(stage.rows, stage.columns, stage.shape.expert > 1, stage.in_flight);
      auto found = known.find(key);
      if (found == known.end()) {
        found = known.emplace(key, freed(plan, stage, classes)).first;
        out.programs += found->second.expressible.programs + found->second.any.programs;
      }
      const Freed& of = found->second;
      const std::vector<int> counts = of.profile.counts(stage.first, stage.end, state);
      const bool better = of.any.possible;
      for (const PlannedBlock& block : of.any.blocks) out.proven = out.proven && block.proven;
      const std::array<double, 2> seconds = {of.expressible.seconds(counts),
                                             (better ? of.any : of.expressible).seconds(counts)};
      for (std::size_t i = 0; i < seconds.size(); ++i) {
        sums[i] += seconds[i];
        slowest[i] = std::max(slowest[i], seconds[i]);
      }
    }
    const double others = microbatches(plan.strategy, job_.training) - 1;
    out.expressible_s = sums[0] + others * slowest[0];
    out.any_s = sums[1] + others * slowest[1];
    return out;
  }

  const Job& job_;
  const SearchSpec& spec_;
  const PlannerOptions& options_;
  const SearchProgress& progress_;
  const SearchStop& stop_;
  std::vector<Strategy> seen_;  // strategies among the changes
  std::vector<ExecutedPlan> found_;
  PlannerOutcome out_;
};

}  // namespace

PlannerOutcome plan(const Job& job, const SearchSpec& spec, const PlannerOptions& options,
                    const SearchProgress& progress, const SearchStop& stop) {
  return Planner(job, spec, options, progress, stop).run();
}

}  // namespace mirfak::alpa
