#include "energy/scenario_clocks.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "energy/device_clocks.hpp"
#include "energy/pass_ways.hpp"
#include "energy/waits_of_passes.hpp"
#include "engine/execute.hpp"
#include "program/lowered_passes.hpp"
#include "program/replica_classes.hpp"
#include "program/stage_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <utility>

namespace mirfak {

namespace {

// Options of a program of whole passes, with one rank for each class of replicas.
LoweringOptions of_whole_passes() {
  LoweringOptions out;
  out.passes_alone = true;
  out.by_class = true;
  return out;
}

class ClockedJob {
 public:
  ClockedJob(const Job& job, const ClockUnits& units) : job_(job), units_(units), blocks_(shard_blocks(job)) {
    if (job.cluster.shares_gpus()) {
      fail_infeasible({}, "cluster.nodes: ranks that share a GPU have one clock, which no plan can set for each",
                      "leave ranks_per_gpu out");
    }
    if (job.cluster.facility().power_floor) {
      fail_infeasible({}, "cluster.power_floor: lower clocks save nothing that a floor burns, and plans know no floor",
                      "leave it out");
    }
    if (job.cluster.facility().staggered_replicas) {
      fail_infeasible({}, "cluster.staggered_replicas: clocks are planned for replicas that begin together",
                      "leave it out");
    }
    if (!job.cluster.perturbations().empty()) {
      fail_infeasible({}, "cluster.perturbations: clocks are planned for ranks of a stage that are equally fast",
                      "leave it out");
    }
    if (!folds(job)) {
      fail_infeasible({}, "cluster.fabric.routing: clocks are planned for ranks of a stage that are equally fast",
                      "leave it out: messages that are spread collide nowhere");
    }
    for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
      clocks_.push_back(planned_clocks(job.hardware_of(stage, 0).hardware));
    }
  }

  ClockedProgram write() {
    if (schedule_of(job_.strategy.schedule).needs_times) {
      for (StagePlan& plan : plan_stages(job_, blocks_)) orders_.push_back(std::move(plan.order));
    }
    const std::vector<StagePlan> plans = plans_at(0);
    const LoweredPasses passes = lower_passes(job_, blocks_, plans, of_whole_passes());
    out_.program = passes.program;
    find_passes();
    price_clocks();
    add_ways();
    if (shares_links_in_passes(job_, plans)) add_waits(passes, plans);
    if (out_.program.shares_links()) compare_replicas(plans);
    const Timeline timeline = execute(out_.program);
    for (TaskId task = 0; task < out_.program.size(); ++task) {
      out_.lasts.push_back(timeline.end[task] - timeline.start[task]);
    }
    for (const ProgramRank& rank : out_.program.ranks) {
      out_.blocked_w +=
          job_.hardware_of(static_cast<int>(rank.stage), 0).hardware.gpu.blocked_w.value * rank.multiplicity;
    }
    return std::move(out_);
  }

 private:
  double clock_of(int stage, std::size_t setting) const {
    const std::vector<double>& clocks = clocks_[static_cast<std::size_t>(stage)];
    return clocks[std::min(setting, clocks.size() - 1)];
  }

  // Returns the plans with all devices at a place in their list of clocks.
  std::vector<StagePlan> plans_at(std::size_t setting) const {
    std::vector<double> limits;
    for (int stage = 0; stage < job_.strategy.pipeline; ++stage) {
      limits.push_back(clock_of(stage, setting) / job_.hardware_of(stage, 0).hardware.gpu.clock_max_hz.value);
    }
    std::vector<StagePlan> plans = plan_stages(job_, blocks_, limits);
    // An order that depends on times is that of the highest clocks.
    for (std::size_t i = 0; i < orders_.size(); ++i) plans[i].order = orders_[i];
    return plans;
  }

  // Adds waiting times: a task that waits for links that exchanges inside passes also use waits as long as in the
  // iteration at the highest clocks.
  void add_waits(const LoweredPasses& whole, std::span<const StagePlan> plans) {
    LoweringOptions cut;
    cut.by_class = true;
    out_.program = with_waits(whole, lower_passes(job_, blocks_, plans, cut));
    out_.choices_of.resize(out_.program.classes.size(), -1);
    out_.left_out.emplace_back(
        "what passes exchange shares links with others: each waits for the others as long as at the highest clocks, "
        "whatever the clock");
  }

  // Notes if replicas of a stage differ: a clock is for all ranks of a stage.
  void compare_replicas(std::span<const StagePlan> plans) {
    if (lower(job_, blocks_, plans).ranks.size() == out_.program.ranks.size()) return;
    out_.left_out.emplace_back(
        "short links slow replicas of a stage unlike: clocks are planned as if all were as slow as the slowest");
  }

  void find_passes();
  void price_clocks();
  void add_ways();
  // Kinds of pass that replicas' collectives cut; ways in which the host would decide; ways that differ in steps.
  struct LeftOut {
    std::size_t cut = 0;
    std::size_t by_host = 0;
    std::size_t unlike = 0;
  };
  PassWays ways_of(const ClockUnits::Way& way) const;
  void add_ways_of(std::vector<PassWays>& ways, const PassWays* own, const PassPlace& place, std::size_t kind,
                   std::vector<ClockChoice>& out, LeftOut& left_out) const;
  void note_ways(const LeftOut& left_out);
  std::vector<std::optional<PassPlace>> places_of_kinds(const PassWays& passes) const;

  const Job& job_;
  const ClockUnits& units_;
  ShardedBlocks blocks_;
  std::vector<std::vector<double>> clocks_;  // by stage
  ClockedProgram out_;
  std::vector<TaskId> first_of_kind_;      // a task of each kind of pass
  std::vector<std::vector<Pass>> orders_;  // one for each plan
};

// Finds the classes whose tasks are passes on a compute stream.
void ClockedJob::find_passes() {
  const Program& program = out_.program;
  out_.choices_of.assign(program.classes.size(), -1);
  for (TaskId task = 0; task < program.size(); ++task) {
    const TaskClass& of = program.class_of(task);
    std::int32_t& kind = out_.choices_of[program.task_class[task]];
    const bool pass =
        of.kind == TaskKind::forward || of.kind == TaskKind::backward || of.kind == TaskKind::weight_gradient;
    if (!pass) continue;
    if (program.streams[program.stream[task]].kind != StreamKind::compute || kind >= 0) continue;
    kind = static_cast<std::int32_t>(first_of_kind_.size());
    first_of_kind_.push_back(task);
  }
}

// Tasks of one class take equally long, so at each clock the classes of the program are priced, and no task is written.
void ClockedJob::price_clocks() {
  std::size_t settings = 0;
  for (const std::vector<double>& clocks : clocks_) settings = std::max(settings, clocks.size());
  std::vector<std::vector<ClassPrice>> priced(settings);  // by setting and class
  parallel_for(settings, [&](std::size_t setting) {
    priced[setting] = prices_of_passes(job_, blocks_, plans_at(setting), of_whole_passes());
  });
  for (const std::vector<ClassPrice>& at : priced) {
    if (at.size() != priced.front().size()) fail_internal("a clock changes the tasks of a program");
  }
  for (const TaskId task : first_of_kind_) {
    const ClassId of = out_.program.task_class[task];
    const int stage = out_.program.class_of(task).stage;
    std::vector<ClockChoice> choices;
    for (std::size_t setting = 0; setting < clocks_[static_cast<std::size_t>(stage)].size(); ++setting) {
      const ClassPrice& at = priced[setting][of];
      choices.push_back({clock_of(stage, setting), at.duration, at.energy_j * out_.multiplicity(task)});
    }
    if (choices.front().duration != out_.program.duration[task]) fail_internal("a pass of a program has another price");
    out_.choices.push_back(pass_choices(choices));
    out_.settings.push_back(std::move(choices));
  }
}

// Returns the kinds of pass that a task may be, if it is a whole pass.
std::vector<Pass::Kind> kinds_of(TaskKind task) {
  if (task == TaskKind::forward) return {Pass::Kind::forward};
  if (task == TaskKind::weight_gradient) return {Pass::Kind::backward_weight};
  return {Pass::Kind::backward, Pass::Kind::backward_input};
}

// Returns the place of each kind of pass; nothing for one that collectives of replicas cut, or make wait.
std::vector<std::optional<PassPlace>> ClockedJob::places_of_kinds(const PassWays& passes) const {
  std::vector<std::optional<PassPlace>> out(first_of_kind_.size());
  for (std::size_t kind = 0; kind < out.size(); ++kind) {
    const TaskClass& of = out_.program.class_of(first_of_kind_[kind]);
    for (const Pass::Kind pass : kinds_of(of.kind)) {
      const PassPlace place{of.stage, of.chunk, pass};
      if (passes.at_highest(place).device == out_.settings[kind].front().duration) out[kind] = place;
    }
  }
  return out;
}

PassWays ClockedJob::ways_of(const ClockUnits::Way& way) const {
  Job job = job_;
  job.strategy.nanobatches = way.nanobatches;
  job.strategy.communication_sms = way.communication_sms;
  return {std::move(job), clocks_};
}

// Adds the choices of parts of passes and of other ways to run a pass.
void ClockedJob::add_ways() {
  if (units_.passes_alone()) return;
  std::vector<ClockUnits::Way> all_ways = {{job_.strategy.nanobatches, job_.strategy.communication_sms}};
  all_ways.insert(all_ways.end(), units_.ways.begin(), units_.ways.end());
  std::map<int, std::vector<PassWays>> by_parts;  // by parts of a microbatch
  for (const ClockUnits::Way& way : all_ways) by_parts[way.nanobatches].push_back(ways_of(way));
  const PassWays& own = by_parts.at(job_.strategy.nanobatches).front();
  const std::vector<std::optional<PassPlace>> places = places_of_kinds(own);
  struct Found {
    std::vector<PassWays>* ways = nullptr;
    std::vector<std::vector<ClockChoice>> choices;  // by kind
    LeftOut left_out;
  };
  std::vector<Found> found;
  for (auto& [parts, ways] : by_parts)
    found.push_back({&ways, std::vector<std::vector<ClockChoice>>(places.size()), {}});
  parallel_for(found.size(), [&](std::size_t i) {
    for (std::size_t kind = 0; kind < places.size(); ++kind) {
      if (places[kind])
        add_ways_of(*found[i].ways, &own, *places[kind], kind, found[i].choices[kind], found[i].left_out);
    }
  });
  std::vector<std::vector<ClockChoice>> all = out_.settings;
  LeftOut left_out;
  left_out.cut =
      static_cast<std::size_t>(std::count_if(places.begin(), places.end(), [](const auto& place) { return !place; }));
  for (Found& each : found) {
    left_out.by_host += each.left_out.by_host;
    left_out.unlike += each.left_out.unlike;
    for (std::size_t kind = 0; kind < all.size(); ++kind) {
      std::move(each.choices[kind].begin(), each.choices[kind].end(), std::back_inserter(all[kind]));
    }
  }
  for (std::size_t kind = 0; kind < all.size(); ++kind) {
    // Notes count the clocks that can be set, not plans of parts.
    const PassChoices of_clocks = std::exchange(out_.choices[kind], pass_choices(all[kind]));
    out_.choices[kind].dominated = of_clocks.dominated;
    out_.choices[kind].above_hull = of_clocks.above_hull;
  }
  note_ways(left_out);
}

// Adds the choices of ways that differ in the multiprocessors of collectives. `own`: the job's own way.
void ClockedJob::add_ways_of(std::vector<PassWays>& ways, const PassWays* own, const PassPlace& place, std::size_t kind,
                             std::vector<ClockChoice>& out, LeftOut& left_out) const {
  const PassWays::Inside inside{units_.change, units_.cut, units_.launches};
  const double ranks = out_.multiplicity(first_of_kind_[kind]);
  std::vector<PassWays*> possible;
  for (PassWays& way : ways) {
    const bool is_own = &way == own;
    if (!is_own && way.host_decides(place)) {
      ++left_out.by_host;
      continue;
    }
    possible.push_back(&way);
    for (ClockChoice& choice : way.choices(place, inside, ranks)) {
      // The job's own way at one clock is a choice already.
      const bool is_known = is_own && choice.way->clocks.size() < 2 && choice.way->launches.empty();
      if (!is_known) out.push_back(std::move(choice));
    }
  }
  if (!units_.channels_of_parts || possible.size() < 2) return;
  const std::span others(possible);
  std::optional<std::vector<ClockChoice>> mixed =
      possible.front()->choices_with(others.subspan(1), place, inside, ranks);
  if (!mixed) {
    ++left_out.unlike;
    return;
  }
  std::move(mixed->begin(), mixed->end(), std::back_inserter(out));
}

// Notes how many kinds of pass have no parts, and how many ways the host would decide.
void ClockedJob::note_ways(const LeftOut& left_out) {
  if (left_out.cut > 0) {
    out_.left_out.push_back(
        fmt::format("{} of {} kinds of pass are cut by collectives of replicas, or wait for them: "
                    "each has one clock, and runs as the job says",
                    left_out.cut, first_of_kind_.size()));
  }
  if (left_out.by_host > 0) {
    out_.left_out.push_back(
        fmt::format("{} ways to run a kind of pass left out: the host would decide their time", left_out.by_host));
  }
  if (left_out.unlike > 0) {
    out_.left_out.push_back(
        fmt::format("{} ways to run a kind of pass have one number of multiprocessors for all collectives of a pass: "
                    "with others, steps of the pass differ",
                    left_out.unlike));
  }
}

// Refuses stages whose replicas differ: a clock is planned for a stage, so it would be unclear for which replicas it
// is.
void check_replicas(const Job& job) {
  const std::vector<ReplicaClass> classes = replica_classes(job);
  if (classes.size() == 1) return;
  fail_infeasible(
      {},
      fmt::format("replicas {} and {} differ in type of node, placement or microbatches; the frontier is of "
                  "stages whose replicas are alike",
                  classes[0].first(), classes[1].first()),
      "leave strategy.replica_microbatches out, and give each stage one type of node");
}

}  // namespace

ClockedProgram clocked_program(const Job& job, const ClockUnits& units) {
  check_replicas(job);
  return ClockedJob(job, units).write();
}

}  // namespace mirfak
