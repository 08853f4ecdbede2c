// Both levels together, on GPTs small enough to enumerate.

#include "alpa/model_plan.hpp"

#include "alpa/planner.hpp"
#include "alpa/stage_profile.hpp"
#include "program/memory.hpp"
#include "scenario/search_scenario.hpp"
#include "strategy/rules.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace model_plan_test {

using namespace mirfak;
using namespace mirfak::alpa;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The GPT of Alpa's evaluation, made small.
SearchScenario scenario_with(std::vector<std::string> more) {
  const std::filesystem::path source = source_root();
  std::vector<std::string> overrides = {"model.layers=4", "model.hidden=1024", "model.heads=16",
                                        "training.global_batch=16"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return load_search(source / "scenarios/papers/alpa/gpt-39b.yaml", overrides,
                     DataFolders{source / "models", source / "hw_profiles"});
}
const std::string kFourGpus = "cluster.nodes=[{type: aws-p3, count: 1, gpus: 4}]";

// A search with one choice of state, and no choice but of stages and microbatches.
SearchScenario plain_scenario(int layers, double headroom) {
  return scenario_with({kFourGpus, "model.layers=" + std::to_string(layers), "strategy.zero=0",
                        "strategy.recompute_layers=" + std::to_string(layers), "search.space.micro_batch=[1, 2]",
                        "search.headroom=" + std::to_string(headroom)});
}

// Every partition into stages, by trying all: each on a part of the node where it lies whole, on each logical mesh.
class Enumeration {
 public:
  Enumeration(const SearchScenario& scenario, const PlanningChoice& choice)
      : job_(scenario.job),
        spec_(scenario.search.spec),
        choice_(choice),
        classes_(job_),
        layers_(static_cast<int>(job_.model.layers)),
        memory_(usable_bytes(job_.cluster.gpu_of(0).memory_bytes.value, spec_.headroom)) {}

  double least() {
    extend(0, 0);
    return least_;
  }

 private:
  struct Stage {
    int first;
    int end;
    StageProfile* profile;
  };

  StageProfile* profile_on(int rows, int columns) {
    const std::vector<int>& sizes = spec_.space.micro_batch;
    if (choice_.sequences % rows != 0) return nullptr;
    if (std::find(sizes.begin(), sizes.end(), choice_.sequences / rows) == sizes.end()) return nullptr;
    std::unique_ptr<StageProfile>& known = profiles_[{rows, columns}];
    if (known == nullptr) {
      Job job = job_;
      job.strategy = choice_.common;
      job.strategy.data = rows;
      job.strategy.tensor = columns;
      job.strategy.micro_batch = choice_.sequences / rows;
      job.strategy.recompute_layers = 1;
      known = std::make_unique<StageProfile>(job, shard_blocks(job), classes_);
    }
    return known.get();
  }

  void judge() {
    const int microbatches = static_cast<int>(job_.training.global_batch / choice_.sequences);
    double sum = 0;
    double slowest = 0;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      const int in_flight = std::min(static_cast<int>(stages_.size() - i), microbatches);
      const StageOption option = stages_[i].profile->option(stages_[i].first, stages_[i].end, choice_.states.front());
      if (option.bytes(in_flight) > memory_) return;
      sum += option.seconds;
      slowest = std::max(slowest, option.seconds);
    }
    least_ = std::min(least_, sum + (microbatches - 1) * slowest);
  }

  void extend(int first, int device) {
    const int gpus = job_.cluster.gpus();
    if (first == layers_) {
      if (device == gpus) judge();
      return;
    }
    for (int devices = 1; device + devices <= gpus; devices *= 2) {
      if (device % devices != 0) continue;
      for (int columns = 1; columns <= devices; columns *= 2) {
        StageProfile* const profile = profile_on(devices / columns, columns);
        if (profile == nullptr) continue;
        for (int end = first + 1; end <= layers_; ++end) {
          stages_.push_back({first, end, profile});
          extend(end, device + devices);
          stages_.pop_back();
        }
      }
    }
  }

  const Job& job_;
  const SearchSpec& spec_;
  const PlanningChoice& choice_;
  StageClasses classes_;
  int layers_;
  double memory_;
  std::map<std::pair<int, int>, std::unique_ptr<StageProfile>> profiles_;
  std::vector<Stage> stages_;
  double least_ = kNever;
};

double least_of_all(const SearchScenario& scenario) {
  double least = kNever;
  for (const PlanningChoice& choice : planning_choices(scenario.job, scenario.search.spec.space)) {
    least = std::min(least, Enumeration(scenario, choice).least());
  }
  return least;
}

double time_of(const PlannerOutcome& outcome) {
  return outcome.plans.empty() ? kNever : outcome.plans.front().simulated.iteration.iteration_time_s;
}

}  // namespace

TEST_CASE("the joined levels find the best of all partitions, submeshes and meshes by their own count") {
  for (const int layers : {1, 2, 3, 4, 5}) {
    for (const double headroom : {0.0, 0.7, 0.8}) {
      CAPTURE(layers);
      CAPTURE(headroom);
      const SearchScenario scenario = plain_scenario(layers, headroom);
      const ModelPlans found = plan_model(scenario.job, scenario.search.spec, Levels::both, 1);
      const double least = least_of_all(scenario);
      REQUIRE(found.plans.empty() == (least == kNever));
      if (!found.plans.empty()) CHECK(found.plans.front().estimate_s == doctest::Approx(least).epsilon(1e-12));
    }
  }
}

TEST_CASE("a plan's bytes are the engine's, and its time is near it") {
  const std::filesystem::path source = source_root();
  const SearchScenario gpt = scenario_with({kFourGpus});
  const SearchScenario convolutions =
      load_search(source / "scenarios/papers/alpa/wide-resnet-13b.yaml",
                  std::vector<std::string>{"model=wide-resnet-1b", kFourGpus, "training.global_batch=64"},
                  DataFolders{source / "models", source / "hw_profiles"});
  int shaped = 0;
  for (const SearchScenario* scenario : {&gpt, &convolutions}) {
    const ModelPlans found = plan_model(scenario->job, scenario->search.spec, Levels::both);
    REQUIRE(!found.plans.empty());
    for (std::size_t i = 0; i < std::min<std::size_t>(found.plans.size(), 40); ++i) {
      const ModelPlan& plan = found.plans[i];
      Job job = scenario->job;
      job.strategy = plan.strategy;
      if (first_violation({job.model, job.training, job.framework, job.strategy, job.cluster.gpus()})) continue;
      const IterationResult result = simulate(job).result;
      CHECK(result.fits);
      CHECK(plan.estimate_s < 1.15 * result.iteration_time_s);
      if (scenario == &gpt) CHECK(plan.estimate_s > 0.85 * result.iteration_time_s);
      REQUIRE(result.stages.size() == plan.stages.size());
      for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
        const double counted = plan.stages[stage].cost.bytes(plan.stages[stage].in_flight);
        CHECK(counted == doctest::Approx(result.stages[stage].memory.peak.total()).epsilon(1e-9));
      }
      shaped += plan.strategy.stages.empty() ? 0 : 1;
    }
  }
  CHECK(shaped > 0);
}

TEST_CASE("the integer program of a strategy's own shardings counts what the engine prices") {
  const SearchScenario scenario = scenario_with({kFourGpus, "training.global_batch=1024"});
  for (const int rows : {1, 2, 4}) {
    CAPTURE(rows);
    Job job = scenario.job;
    job.strategy = planning_choices(scenario.job, scenario.search.spec.space).front().common;
    job.strategy.data = rows;
    job.strategy.tensor = 4 / rows;
    const ShardedBlocks blocks = shard_blocks(job);
    const StageCosts costs(job, replica_classes(job), 0, 0);
    const LogicalMesh mesh = logical_mesh(job.cluster, 1, 4, rows, 4 / rows);
    const MeshPlan plan = plan_mesh({job, blocks, costs, mesh}, Freedom::expressible);
    REQUIRE(plan.possible);
    CHECK(plan.expert == 1);
    const BlockBodies priced = price_block(job, blocks.layer(), costs);
    const double engine = to_seconds(priced.folded_forward.device + priced.folded_backward.device);
    const double counted = plan.blocks[1].cost.seconds;
    CHECK(counted >= engine * (1 - 1e-6));
    CHECK(counted < engine * 1.15);  // with the layer's part of an iteration's reductions
  }
}

TEST_CASE("the planner's answer does not depend on threads, and is no worse than either level alone") {
  const SearchScenario scenario = scenario_with({kFourGpus, "model.layers=8"});
  const SearchSpec& spec = scenario.search.spec;
  const PlannerOutcome one = plan(scenario.job, spec, {Levels::both, 1, 3});
  const PlannerOutcome two = plan(scenario.job, spec, {Levels::both, 2, 3});
  REQUIRE(!one.plans.empty());
  REQUIRE(one.plans.size() == two.plans.size());
  for (std::size_t i = 0; i < one.plans.size(); ++i) {
    CHECK(one.plans[i].simulated.found.job.strategy == two.plans[i].simulated.found.job.strategy);
    CHECK(one.plans[i].simulated.iteration == two.plans[i].simulated.iteration);
  }
  CHECK(one.executed == two.executed);
  CHECK(one.effort.programs == two.effort.programs);
  const PlannerOutcome intra = plan(scenario.job, spec, {Levels::intra_only, 2, 1});
  const PlannerOutcome inter = plan(scenario.job, spec, {Levels::inter_only, 2, 1});
  REQUIRE(!intra.plans.empty());
  REQUIRE(!inter.plans.empty());
  CHECK(intra.plans.front().simulated.found.job.strategy.pipeline == 1);
  CHECK(inter.plans.front().simulated.found.job.strategy.pipeline == 4);
  CHECK(time_of(one) <= time_of(intra));
  CHECK(time_of(one) <= time_of(inter));
  REQUIRE(one.plans.front().gain);
  CHECK(one.plans.front().gain->any_s <= one.plans.front().gain->expressible_s * (1 + 1e-6));
}

TEST_CASE("a mixture's integer program chooses where experts lie, and the plan stays within the search's best") {
  const std::filesystem::path source = source_root();
  const SearchScenario scenario = load_search(
      source / "scenarios/papers/alpa/gshard-moe-70b.yaml",
      std::vector<std::string>{"model=gshard-moe-1.3b", "cluster.nodes=[{type: aws-p3, count: 1, gpus: 4}]"},
      DataFolders{source / "models", source / "hw_profiles"});
  const PlannerOutcome found = plan(scenario.job, scenario.search.spec, {Levels::both, 2, 1});
  REQUIRE(!found.plans.empty());
  SearchSpec spec = scenario.search.spec;
  spec.top = 1;
  const SearchResult best = search(scenario.job, spec, 2);
  REQUIRE(!best.strategies.empty());
  CHECK(time_of(found) <= 1.001 * best.strategies.front().iteration_time_s);
}

}  // namespace model_plan_test
