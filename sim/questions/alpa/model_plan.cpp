#include "alpa/model_plan.hpp"

#include "alpa/basics.hpp"
#include "alpa/stage_profile.hpp"
#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/stopwatch.hpp"
#include "program/data_parallel.hpp"
#include "program/memory.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <thread>

namespace mirfak::alpa {

namespace {

// Factor by which a plan's estimate may exceed the best one. Slower plans are not worth the engine's time; estimates
// leave out effects that the engine sees.
constexpr double kWorthTrying = 1.1;
constexpr std::size_t kBatch = 4;  // choices planned before the best is updated

// A logical mesh of a submesh whose blocks are planned.
struct Site {
  int submesh = 0;
  LogicalMesh mesh;
  MeshPlan plan;
  StageProfile profile;

  double program_s(int first, int end, const StateOfStages& state) const {
    return plan.seconds(profile.counts(first, end, state));
  }
};

// Best estimates, to which plans have to come near. Estimates leave out the extra time of transfers between stages of
// different shapes, so plans whose stages are alike are compared among themselves.
struct Best {
  double any_s = kNever;
  double equal_s = kNever;

  void add(const ModelPlan& plan) {
    any_s = std::min(any_s, plan.estimate_s);
    if (plan.equal || plan.strategy.stages.empty()) equal_s = std::min(equal_s, plan.estimate_s);
  }
};

// Stop request: asked for only on the thread that plans; the other threads read the answer.
class Stop {
 public:
  explicit Stop(const SearchStop& asked) : asked_(asked), thread_(std::this_thread::get_id()) {}
  bool operator()() {
    if (asked_ && std::this_thread::get_id() == thread_ && asked_()) stopped_ = true;
    return stopped_;
  }

 private:
  const SearchStop& asked_;
  std::thread::id thread_;
  std::atomic<bool> stopped_ = false;
};

// Result of planning one choice.
struct Outcome {
  std::vector<ModelPlan> plans;
  PlanningEffort effort;
};

class ChoicePlanner {
 public:
  ChoicePlanner(const Job& job, const SearchSpec& spec, Levels levels, const PlanningChoice& choice, Best best,
                Stop& stop)
      : job_(job), spec_(spec), levels_(levels), choice_(choice), best_(best), classes_(job), stop_(stop) {
    const NodeGroup& nodes = job.cluster.groups().front();
    gpus_per_node_ = nodes.hardware.spec.gpus;
    submeshes_ = submeshes_of(nodes);
  }

  Outcome run() {
    const WallClock::time_point begin = WallClock::now();
    for (std::size_t i = 0; i < submeshes_.size(); ++i) add_sites(static_cast<int>(i));
    out_.effort.choices = 1;
    out_.effort.programs_s = seconds_since(begin);
    const WallClock::time_point behind = WallClock::now();
    for (const StateOfStages& state : choice_.states) {
      if (may_be_of_a_pipeline(state) && !stop_()) plan_with(state);
    }
    out_.effort.partitions_s = seconds_since(behind);
    return std::move(out_);
  }

 private:
  std::vector<Submesh> submeshes_of(const NodeGroup& nodes) const {
    if (levels_ == Levels::inter_only) return {{1, 1}};
    if (levels_ == Levels::intra_only) return {{nodes.count, gpus_per_node_}};
    return submeshes(nodes.count, gpus_per_node_, NodeCounts::powers_of_two);
  }

  void add_sites(int submesh) {
    const Submesh& of = submeshes_[static_cast<std::size_t>(submesh)];
    for (int columns = 1; columns <= of.devices(); ++columns) {
      if (of.devices() % columns != 0 || stop_()) continue;
      const int rows = of.devices() / columns;
      const std::optional<Job> job = job_on(rows, columns);
      if (!job) continue;
      add_site(submesh, *job, Freedom::expressible);
      if (divides_experts()) add_site(submesh, *job, Freedom::experts_whole);
    }
  }

  // Returns the job as if a stage of that shape were the whole job; nothing if the space or the rules exclude it.
  std::optional<Job> job_on(int rows, int columns) const {
    const auto in = [](const std::vector<int>& values, int value) {
      return std::find(values.begin(), values.end(), value) != values.end();
    };
    const NodeSpec& node = job_.cluster.groups().front().hardware.spec;
    if (choice_.sequences % rows != 0 || !in(spec_.space.micro_batch, choice_.sequences / rows)) return std::nullopt;
    if (!in(spec_.space.tensor, columns)) return std::nullopt;
    if (columns > node.scale_up_domain && !spec_.space.tensor_across_domains) return std::nullopt;
    Job out = job_;
    out.strategy = choice_.common;
    out.strategy.data = rows;
    out.strategy.tensor = columns;
    out.strategy.micro_batch = choice_.sequences / rows;
    if (columns == 1) out.strategy.sequence_parallel = false;
    // The blocks are the same for all numbers of recomputed layers.
    if (out.strategy.recompute != Recompute::none) out.strategy.recompute_layers = 1;
    if (first_violation({out.model, out.training, out.framework, out.strategy, rows * columns})) return std::nullopt;
    return out;
  }

  bool divides_experts() const { return job_.model.mixture.experts > 0 && spec_.space.expert.size() > 1; }

  // Mixtures have two plans for each mesh, because the engine sees more of the exchanges of rows than the integer
  // program does.
  void add_site(int submesh, Job job, Freedom freedom) {
    const Submesh& of = submeshes_[static_cast<std::size_t>(submesh)];
    const LogicalMesh mesh = logical_mesh(job_.cluster, of.nodes, of.gpus, job.strategy.data, job.strategy.tensor);
    ShardedBlocks blocks = shard_blocks(job);
    const StageCosts costs(job, replica_classes(job), 0, 0);
    MeshPlan plan = plan_mesh({job, blocks, costs, mesh}, freedom);
    if (freedom == Freedom::expressible) ++out_.effort.meshes;
    out_.effort.programs += plan.programs;
    if (!plan.possible) return;
    const std::vector<int>& allowed = spec_.space.expert;
    if (std::find(allowed.begin(), allowed.end(), plan.expert) == allowed.end()) return;
    if (freedom == Freedom::expressible && divides_experts() && plan.expert == 1) return;  // the other plan is the same
    if (plan.expert > 1) {
      job.strategy.expert = plan.expert;
      if (first_violation({job.model, job.training, job.framework, job.strategy, mesh.devices()})) return;
      blocks = shard_blocks(job);
    }
    sites_.push_back(std::make_unique<Site>(
        Site{submesh, mesh, std::move(plan), StageProfile(std::move(job), std::move(blocks), classes_)}));
  }

  void plan_with(const StateOfStages& state) {
    const bool shaped = !gathers_in_passes(job_.framework, state.zero) && state.zero < 3;
    if ((shaped || levels_ == Levels::intra_only) && least_s(state) <= best_.any_s * kWorthTrying) {
      if (!job_.model.tied_embeddings) {
        add(best_stages(problem(state, best_.any_s * kWorthTrying)), state, nullptr);
      } else {
        plan_with_alike_ends(state);
      }
    }
    if (levels_ == Levels::both) plan_equal_stages(state);
  }

  // Returns false if a stage has too many recomputed layers for a pipeline: many recomputed layers are for stages of
  // many layers. If the model is one stage, all numbers are tried.
  bool may_be_of_a_pipeline(const StateOfStages& state) const {
    constexpr int part = 8;
    return levels_ != Levels::both || state.recompute_layers * part <= job_.model.layers ||
           state.recompute_layers == choice_.states.front().recompute_layers;
  }

  // Returns a lower bound of the time of all partitions: each layer runs on the devices that it uses best.
  double least_s(const StateOfStages& state) const {
    double sum = 0;
    for (int layer = 0; layer < static_cast<int>(job_.model.layers); ++layer) {
      double least = kNever;
      for (const std::unique_ptr<Site>& site : sites_) {
        least = std::min(least, site->profile.least_seconds(layer, state) * site->mesh.devices());
      }
      sum += least;
    }
    return sum / job_.cluster.gpus() * microbatches();
  }

  // Plans with the same shape for the first and the last stage, because both hold the same parameters.
  void plan_with_alike_ends(const StateOfStages& state) {
    for (const std::unique_ptr<Site>& site : sites_) {
      StageProblem with = problem(state, best_.any_s * kWorthTrying);
      const Site* ends = site.get();
      const auto layers = static_cast<int>(job_.model.layers);
      const auto all = with.options;
      with.options = [=, this](int first, int end, int submesh) {
        if (first > 0 && end < layers) return all(first, end, submesh);
        return first == 0 && end == layers ? options(first, end, submesh, state, {})
                                           : options(first, end, submesh, state, ends);
      };
      add(best_stages(with), state, nullptr);
    }
  }

  void plan_equal_stages(const StateOfStages& state) {
    for (const std::unique_ptr<Site>& site : sites_) {
      const int devices = site->mesh.devices();
      const int stages = job_.cluster.gpus() / devices;
      if (job_.cluster.gpus() % devices != 0 || stages > job_.model.layers) continue;
      if (stop_()) return;
      if (site->profile.least_seconds(state) / stages * microbatches() > best_.equal_s * kWorthTrying) continue;
      StageProblem with = problem(state, best_.equal_s * kWorthTrying);
      Site* const only = site.get();
      with.submeshes = {submeshes_[static_cast<std::size_t>(site->submesh)]};
      with.options = [=](int first, int end, int /*submesh*/) {
        return std::vector<StageOption>{only->profile.option(first, end, state)};
      };
      add(best_stages(with), state, only);
    }
  }

  int microbatches() const { return static_cast<int>(job_.training.global_batch / choice_.sequences); }

  StageProblem problem(const StateOfStages& state, double longest_s) const {
    const NodeHardware& node = job_.cluster.groups().front().hardware;
    StageProblem out;
    out.layers = static_cast<int>(job_.model.layers);
    out.devices = job_.cluster.gpus();
    out.microbatches = microbatches();
    out.memory = memory_limit(job_, spec_).of_device(node.gpu.memory_bytes.value, job_.framework.memory.platform_bytes);
    out.submeshes = submeshes_;
    out.gpus_per_node = gpus_per_node_;
    out.longest_s = longest_s;
    out.options = [=, this](int first, int end, int submesh) { return options(first, end, submesh, state, {}); };
    return out;
  }

  // Returns the options of each site of the submesh; options are numbered by these sites. With `only`, just the options
  // of that site are possible.
  std::vector<StageOption> options(int first, int end, int submesh, const StateOfStages& state,
                                   const Site* only) const {
    std::vector<StageOption> out;
    const bool whole = first == 0 && end == static_cast<int>(job_.model.layers);
    const bool all_devices = submeshes_[static_cast<std::size_t>(submesh)].devices() == job_.cluster.gpus();
    for (const std::unique_ptr<Site>& site : sites_) {
      if (site->submesh != submesh) continue;
      const bool asked = (only == nullptr || only == site.get()) && whole == all_devices;
      out.push_back(asked ? site->profile.option(first, end, state) : StageOption{kNever, kNever, 0, 0});
    }
    return out;
  }

  const Site& site_of(int submesh, int option) const {
    for (const std::unique_ptr<Site>& site : sites_) {
      if (site->submesh == submesh && option-- == 0) return *site;
    }
    fail_internal("a stage on a mesh that was not planned");
  }

  // `only`: the site of all stages; null: the options of the stages decide.
  void add(const std::optional<StagePartition>& found, const StateOfStages& state, const Site* only) {
    ++out_.effort.partitions;
    if (!found || !std::isfinite(found->iteration_s)) return;
    ModelPlan plan;
    plan.equal = only != nullptr;
    plan.estimate_s = found->iteration_s;
    for (const PlannedStage& stage : found->stages) {
      const Site& site = only != nullptr ? *only : site_of(stage.submesh, stage.option);
      plan.stages.push_back({stage.first, stage.end, submeshes_[static_cast<std::size_t>(site.submesh)], site.mesh.rows,
                             site.mesh.columns, site.profile.shape(), stage.in_flight, stage.cost,
                             site.program_s(stage.first, stage.end, state)});
    }
    plan.strategy = strategy_of(plan.stages, state);
    best_.add(plan);
    out_.plans.push_back(std::move(plan));
  }

  Strategy strategy_of(const std::vector<ModelStage>& stages, const StateOfStages& state) const {
    Strategy out = choice_.common;
    out.zero = state.zero;
    out.recompute_layers = state.recompute_layers;
    out.pipeline = static_cast<int>(stages.size());
    StageShape widest;
    bool alike = true;
    bool even = true;
    for (const ModelStage& stage : stages) {
      if (&stage == &stages.front() || stage.shape.data > widest.data) widest = stage.shape;
      alike = alike && stage.shape == stages.front().shape;
      even = even && stage.end - stage.first == stages.front().end - stages.front().first;
      out.layer_split.push_back(stage.end - stage.first);
      out.stages.push_back(stage.shape);
    }
    const int longest = *std::max_element(out.layer_split.begin(), out.layer_split.end());
    if (out.recompute_layers >= longest) out.recompute_layers = 0;
    if (alike) out.stages.clear();
    if (alike && even) out.layer_split.clear();
    out.tensor = widest.tensor;
    out.data = widest.data;
    out.expert = widest.expert;
    if (!alike && out.expert_tensor != 1) out.expert_tensor = 0;
    out.micro_batch = choice_.sequences / widest.data;
    if (out.tensor == 1 && alike) out.sequence_parallel = false;
    return out;
  }

  const Job& job_;
  const SearchSpec& spec_;
  Levels levels_;
  const PlanningChoice& choice_;
  Best best_;
  StageClasses classes_;
  Stop& stop_;
  int gpus_per_node_ = 1;
  std::vector<Submesh> submeshes_;
  std::vector<std::unique_ptr<Site>> sites_;
  Outcome out_;
};

void check(const Job& job) {
  if (job.training.preferences.runs_forward_only()) {
    fail_infeasible({}, "Alpa's planner knows no passes without gradients, as training.preferences has them",
                    "use --planner search");
  }
  const auto groups = job.cluster.groups();
  if (groups.size() == 1) return;
  fail_infeasible({}, "Alpa's planner knows nodes of one type with one kind of GPU, and the cluster has several",
                  "leave the others out, or use --planner search");
}

}  // namespace

PlanningEffort& PlanningEffort::operator+=(const PlanningEffort& other) {
  choices += other.choices;
  meshes += other.meshes;
  programs += other.programs;
  partitions += other.partitions;
  programs_s += other.programs_s;
  partitions_s += other.partitions_s;
  return *this;
}

ModelPlans plan_model(const Job& job, const SearchSpec& spec, Levels levels, int threads, const SearchStop& stop) {
  check(job);
  const std::vector<PlanningChoice> choices = planning_choices(job, spec.space);
  ModelPlans out;
  Stop stops(stop);
  Best best;
  for (std::size_t first = 0; first < choices.size() && out.complete; first += kBatch) {
    const std::size_t count = std::min(kBatch, choices.size() - first);
    std::vector<Outcome> outcomes(count);
    parallel_for(
        count,
        [&](std::size_t i) { outcomes[i] = ChoicePlanner(job, spec, levels, choices[first + i], best, stops).run(); },
        threads);
    for (Outcome& outcome : outcomes) {
      out.effort += outcome.effort;
      for (ModelPlan& plan : outcome.plans) {
        best.add(plan);
        out.plans.push_back(std::move(plan));
      }
    }
    out.complete = !stops();
  }
  std::stable_sort(out.plans.begin(), out.plans.end(),
                   [](const ModelPlan& a, const ModelPlan& b) { return a.estimate_s < b.estimate_s; });
  std::vector<ModelPlan> unique;
  for (ModelPlan& plan : out.plans) {
    const bool known =
        std::any_of(unique.begin(), unique.end(), [&](const ModelPlan& of) { return of.strategy == plan.strategy; });
    if (!known) unique.push_back(std::move(plan));
  }
  out.plans = std::move(unique);
  return out;
}

}  // namespace mirfak::alpa
