// No iteration is faster, or needs less energy, than what a search excludes it by: random strategies of random models
// on random clusters, whatever a framework does.

#include "small_spaces.hpp"

#include "base/error.hpp"
#include "plan/cluster_bound.hpp"
#include "plan/replica_bound.hpp"
#include "strategy/rules.hpp"
#include "strategy/stage_rules.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <random>

using namespace mirfak;
using namespace mirfak::test;

namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}

  bool one_in(int sides) { return below(sides) == 0; }
  int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(engine_); }
  template <typename T>
  T among(std::initializer_list<T> values) {
    return *(values.begin() + below(static_cast<int>(values.size())));
  }
  template <typename T>
  const T& among(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(below(static_cast<int>(values.size())))];
  }

 private:
  std::mt19937 engine_;
};

ModelSpec random_model(Dice& dice) {
  const int experts = dice.one_in(3) ? dice.among({4, 8}) : 0;
  ModelSpec model = small_model(dice.among({4, 6, 8, 12, 13}), dice.among({512, 1024, 2048}), dice.one_in(2), experts);
  model.vocab = dice.among({8192, 32000, 131072});
  model.kv_heads = dice.among({16, 4});
  if (dice.one_in(2)) model.activation = ActivationFunction::swiglu;
  if (experts > 0 && dice.one_in(2)) model.mixture.first_dense = 1;
  if (experts > 0 && dice.one_in(3)) model.prediction_layers = 1;
  return model;
}

Cluster random_cluster(Dice& dice) {
  Cluster one = small_cluster(dice.among({"dgx-a100-80g", "hgx-h100", "jean-zay-v100-32g"}), dice.among({1, 2, 4}));
  if (!dice.one_in(4)) return one;
  const Cluster two = small_cluster(dice.among({"dgx-a100-80g", "hgx-h200"}), dice.among({1, 2}));
  return Cluster({one.groups().front(), two.groups().front()}, one.fabric());
}

Job random_job(Dice& dice) {
  Job job = small_job(random_model(dice), random_cluster(dice), dice.among(test::framework_names()), 96);
  if (dice.one_in(4)) job.training.precision = "fp16";
  if (dice.one_in(8)) job.training.optimizer = Optimizer::none;
  if (dice.one_in(8)) job.training.blocking_launches = true;
  if (dice.one_in(8)) job.training.cuda_graphs.attention = true;
  if (dice.one_in(8)) job.training.cuda_graphs.iteration = true;
  job.strategy.tensor = dice.among({1, 1, 2, 4});
  job.strategy.context = dice.among({1, 1, 2});
  job.strategy.pipeline = dice.among({1, 2, 3, 4, 6});
  job.strategy.data = job.cluster.gpus() / (job.strategy.team() * job.strategy.pipeline);
  if (job.model.mixture.experts > 0) job.strategy.expert = dice.among({1, 2, 4});
  job.strategy.expert_tensor = dice.among({0, 1});
  job.strategy.micro_batch = dice.among({1, 2});
  job.strategy.sequence_parallel = job.strategy.tensor > 1 && !dice.one_in(3);
  job.strategy.overlap_tensor = job.strategy.sequence_parallel && dice.one_in(2);
  job.strategy.overlap_expert = dice.one_in(4);
  job.strategy.recompute = dice.among({Recompute::none, Recompute::selective, Recompute::full});
  job.strategy.zero = dice.among({0, 1, 1, 2, 3});
  return job;
}

// `others`: with schedules that split or pair passes; else in a third of the cases.
StrategySpace pipelines_of(const Job& job, Dice& dice, bool others = false) {
  StrategySpace space = smallest_space();
  space.virtual_pipeline = {1, 2, 3};
  space.schedule = {schedule_named("gpipe"), schedule_named("1f1b"), schedule_named("interleaved-1f1b")};
  if (others || dice.one_in(3)) {
    for (const char* name : {"zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v"}) {
      space.schedule.push_back(schedule_named(name));
    }
  }
  space.uneven_layers = 2;
  space.uneven_end_chunks = 2;
  if (job.strategy.recompute != Recompute::none) space.recompute_layers = {0, 1, 2};
  if (job.strategy.recompute == Recompute::full && job.framework.recompute.groups && dice.one_in(3)) {
    space.recompute_method = {RecomputeMethod::uniform};
  }
  return space;
}

// Clocks that nodes may be set to instead of their own, as shares of the highest clocks.
constexpr std::array kLowerClocks = {0.9, 0.7, 0.5};

// The cluster with GPUs set to one of the clocks of a branch: 0 is their own.
Cluster at_clock(const Cluster& cluster, std::size_t clock) {
  std::vector<NodeAllotment> nodes;
  for (const NodeGroup& group : cluster.groups()) {
    NodeHardware& hardware = nodes.emplace_back(group).hardware;
    if (clock > 0) hardware.spec.clock_hz = hardware.gpu.settable_clock_hz(kLowerClocks.at(clock - 1));
  }
  return {std::move(nodes), cluster.fabric()};
}

// The branch of a job's strategy, priced; null: it cannot run.
std::unique_ptr<PricedBranch> branch_of(const Job& job, const StrategySpace& space, SharedBlocks& shared) {
  Strategy any_split = job.strategy;
  any_split.layer_split.assign(static_cast<std::size_t>(any_split.pipeline), 0);
  any_split.layer_split.front() = static_cast<int>(job.model.layers);
  if (first_violation({job.model, job.training, job.framework, any_split, job.cluster.gpus()})) return nullptr;
  try {
    const EnergyAsked energy = {true, {kLowerClocks.begin(), kLowerClocks.end()}};
    Branch branch(std::make_shared<LayoutCosts>(job, job.strategy), job.strategy, space, shared, energy);
    return std::make_unique<PricedBranch>(ListedBranch(std::move(branch), space, shared), shared);
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::infeasible);  // a stage on several types of GPU
    return nullptr;
  }
}

double blocked_w(const Cluster& cluster) {
  double sum = 0;
  for (const NodeGroup& group : cluster.groups()) {
    sum += group.count * group.hardware.spec.gpus * group.hardware.gpu.blocked_w.value;
  }
  return sum;
}

// The distance of bounds below the exact values, as a share of these.
struct Gaps {
  double sum = 0;
  double largest = 0;
  int count = 0;

  void add(double bound, double exact) {
    const double gap = 1 - bound / exact;
    sum += gap;
    largest = std::max(largest, gap);
    ++count;
  }
};

struct AllGaps {
  Gaps time;
  Gaps ordered;  // time, of schedules that are bounded by their own order
  Gaps energy;
  Gaps work;  // energy above that of waiting, at the clocks at which stages settle
};

// Bounds at lower clocks, and energies at the clocks at which stages settle.
void check_clocks(const PricedBranch& branch, const PipelineChoice& pipeline, const StateChoice& state, Job job,
                  AllGaps& gaps) {
  const auto chunks = chunks_of(branch, pipeline);
  const std::vector<StateTerms> states = branch.state_terms(chunks, state);
  const Cluster own = job.cluster;
  ScheduleFacts facts;
  REQUIRE(branch.clocks() == kLowerClocks.size() + 1);
  for (std::size_t clock = 0; clock < branch.clocks(); ++clock) {
    CAPTURE(clock);
    job.cluster = at_clock(own, clock);
    const auto score = branch.score(job, [](const IterationScore&) { return false; });
    REQUIRE(score);
    const PipelineBound fastest = pipeline_bound(branch, pipeline, branch.fastest(clock));
    const PipelineBound settled = pipeline_bound(branch, pipeline, branch.settled(pipeline, chunks, clock));
    const PipelineBound closer =
        bound_with_replicas(branch, pipeline, state, chunks, facts, branch.settled(pipeline, chunks, clock));
    constexpr double rounding = 1 - 1e-9;  // of sums in another order
    const double working_j = score->energy_j - blocked_w(own) * to_seconds(score->time);
    CHECK(fastest.last <= settled.last);
    CHECK(iteration_bound(branch, closer, states, state) <= score->time);
    CHECK(branch.min_energy_j() * rounding <= fastest.energy_j);
    CHECK(fastest.energy_j * rounding <= settled.energy_j);
    CHECK(settled.energy_j * rounding <= working_j);
    gaps.work.add(settled.energy_j, working_j);
  }
}

void check_strategy(const PricedBranch& branch, const PipelineChoice& pipeline, const StateChoice& state,
                    AllGaps& gaps) {
  Job job = branch.job();
  pipeline.apply_to(job.strategy, branch.layout().classes);
  state.apply_to(job.strategy);
  if (first_violation({job.model, job.training, job.framework, job.strategy, job.cluster.gpus()})) return;
  const PipelineBound passes = pipeline_bound(branch, pipeline, branch.fastest());
  const auto chunks = chunks_of(branch, pipeline);
  const std::vector<StateTerms> states = branch.state_terms(chunks, state);
  const Picoseconds bound = iteration_bound(branch, passes, states, state);
  ScheduleFacts facts;
  const auto at = [&](const PlaceTerms& terms) {
    return iteration_bound(branch, bound_with_replicas(branch, pipeline, state, chunks, facts, terms), states, state);
  };
  const Picoseconds closer = at(branch.fastest());
  const Picoseconds settled = at(branch.settled(pipeline, chunks));
  const auto score = branch.score(job, [](const IterationScore&) { return false; });
  REQUIRE(score);
  const double waiting_j = blocked_w(job.cluster) * to_seconds(score->time);
  CHECK(branch.bound() <= passes.last);
  CHECK(branch.bound() <= score->time);
  CHECK(passes.last <= bound);
  CHECK(bound <= closer);
  CHECK(closer <= settled);
  CHECK(settled <= score->time);
  CHECK(branch.min_energy_j() <= passes.energy_j);
  constexpr double rounding = 1 - 1e-9;  // of sums in another order
  CHECK((passes.energy_j + waiting_j) * rounding <= score->energy_j);
  gaps.time.add(static_cast<double>(settled), static_cast<double>(score->time));
  if (!pipeline.plain() && !schedule_of(pipeline.schedule).pairs) {
    gaps.ordered.add(static_cast<double>(settled), static_cast<double>(score->time));
  }
  gaps.energy.add(passes.energy_j + blocked_w(job.cluster) * to_seconds(settled), score->energy_j);
  check_clocks(branch, pipeline, state, job, gaps);
}

// The least seconds of a layer on each stage of a job whose blocks are the only ones of the space; empty: not known.
std::vector<double> layer_seconds_of(const Job& job, StrategySpace space, SharedBlocks& shared) {
  const Strategy& strategy = job.strategy;
  space.others = strategy;
  space.tensor = {strategy.tensor};
  space.context = {strategy.context};
  space.expert = {strategy.expert};
  space.expert_tensor = {strategy.expert_tensor};
  space.micro_batch = {strategy.micro_batch};
  space.sequence_parallel = {strategy.sequence_parallel};
  space.overlap_tensor = {strategy.overlap_tensor};
  space.recompute = {strategy.recompute};
  space.zero = {strategy.zero};
  const StateChoices states = state_choices(space, job.framework);
  ClusterBound bound(job, space, states, {}, shared, {});
  NodeCounts counts;
  for (const NodeGroup& group : job.cluster.groups()) counts.push_back(group.count);
  return bound.layer_seconds(counts, strategy, 0, 0, false);
}

void check_branch(const PricedBranch& branch, Dice& dice, AllGaps& gaps) {
  std::vector<PipelineChoice> pipelines;
  branch.visit_pipelines([](Picoseconds) { return true; },
                         [&](std::size_t number, Picoseconds) { pipelines.push_back(branch.pipeline(number)); });
  constexpr int each = 24;
  for (int i = 0; i < each && !pipelines.empty(); ++i) {
    const int zero = branch.job().strategy.zero;
    const OffloadHabits& offload = branch.job().framework.offload;
    const bool offloads = zero > 0 && offload.max_zero >= zero && !offload.together;
    const StateChoice state = {zero, dice.one_in(2), dice.one_in(2), offloads ? dice.among({0.0, 0.5, 1.0}) : 0};
    check_strategy(branch, dice.among(pipelines), state, gaps);
  }
}

}  // namespace

namespace {

AllGaps gaps_of(int jobs, Dice& dice, const std::function<Job(Dice&)>& random, bool others = false) {
  AllGaps gaps;
  for (int i = 0; i < jobs; ++i) {
    CAPTURE(i);
    const Job job = random(dice);
    CAPTURE(job.framework.name);
    const StrategySpace space = pipelines_of(job, dice, others);
    SharedBlocks shared(space.demanding_schedule());
    if (const auto branch = branch_of(job, space, shared)) check_branch(*branch, dice, gaps);
  }
  return gaps;
}

// Stages on two types of nodes, of a shape for each.
Job random_shaped_job(Dice& dice) {
  Job job = random_job(dice);
  const Cluster first = small_cluster(dice.among({"dgx-a100-80g", "hgx-h100"}), dice.among({1, 2}));
  const Cluster second = small_cluster(dice.among({"jean-zay-v100-32g", "hgx-h200"}), dice.among({1, 2, 4}));
  job.cluster = Cluster({first.groups().front(), second.groups().front()}, first.fabric());
  job.strategy.context = 1;
  job.strategy.zero = dice.among({0, 1, 1, 2});
  std::vector<StageShape> stages;
  for (const NodeGroup& nodes : job.cluster.groups()) {
    const int tensor = dice.among({1, 2, 4});
    const int count = dice.among({1, 2});
    const int gpus = nodes.count * nodes.hardware.spec.gpus;
    const int expert = job.model.mixture.experts > 0 ? dice.among({1, 2, 4}) : 1;
    stages.insert(stages.end(), static_cast<std::size_t>(count),
                  {tensor, std::max(1, gpus / (tensor * count)), expert});
  }
  set_stages(job.strategy, stages);
  return job;
}

// A job on two types of nodes, with as many replicas as fill them.
Job random_mixed_job(Dice& dice) {
  Job job = random_job(dice);
  const Cluster first = small_cluster(dice.among({"dgx-a100-80g", "hgx-h100"}), dice.among({1, 2, 3}));
  const Cluster second = small_cluster(dice.among({"jean-zay-v100-32g", "hgx-h200"}), dice.among({1, 2, 4}));
  job.cluster = Cluster({first.groups().front(), second.groups().front()}, first.fabric());
  job.strategy.pipeline = dice.among({2, 3, 4, 6});
  job.strategy.data = job.cluster.gpus() / (job.strategy.team() * job.strategy.pipeline);
  return job;
}

// Returns the number of strategies of a branch whose stages took no less than `seconds` for each layer.
int check_layers(const PricedBranch& branch, const std::vector<double>& seconds, Dice& dice) {
  std::vector<PipelineChoice> pipelines;
  branch.visit_pipelines([](Picoseconds) { return true; },
                         [&](std::size_t number, Picoseconds) { pipelines.push_back(branch.pipeline(number)); });
  constexpr int each = 8;
  int checked = 0;
  for (int i = 0; i < each && !pipelines.empty(); ++i) {
    const PipelineChoice& pipeline = dice.among(pipelines);
    Job job = branch.job();
    pipeline.apply_to(job.strategy, branch.layout().classes);
    StateChoice{job.strategy.zero}.apply_to(job.strategy);
    if (first_violation({job.model, job.training, job.framework, job.strategy, job.cluster.gpus()})) continue;
    const auto score = branch.score(job, [](const IterationScore&) { return false; });
    REQUIRE(score);
    for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
      CHECK(pipeline.layers_of_stage(stage) * seconds[static_cast<std::size_t>(stage)] <= to_seconds(score->time));
    }
    ++checked;
  }
  return checked;
}

void tell(const AllGaps& gaps) {
  MESSAGE(gaps.time.count << " strategies; time: mean gap " << gaps.time.sum / gaps.time.count << ", largest "
                          << gaps.time.largest << "; of " << gaps.ordered.count << " in their own order "
                          << gaps.ordered.sum / gaps.ordered.count << ", " << gaps.ordered.largest
                          << "; energy: mean gap " << gaps.energy.sum / gaps.energy.count << ", largest "
                          << gaps.energy.largest << "; work: mean gap " << gaps.work.sum / gaps.work.count
                          << ", largest " << gaps.work.largest);
}

}  // namespace

TEST_CASE("bounds of strategies are below what executing them takes, and not far") {
  Dice dice(20240607);
  const AllGaps gaps = gaps_of(500, dice, random_job);
  tell(gaps);
  CHECK(gaps.time.count >= 1700);  // of the frameworks that are drawn, some have neither stages nor tensor ranks
  CHECK(gaps.time.sum <= 0.09 * gaps.time.count);
  CHECK(gaps.ordered.count >= 100);
  CHECK(gaps.ordered.sum <= 0.09 * gaps.ordered.count);
  CHECK(gaps.energy.sum <= 0.065 * gaps.energy.count);
  CHECK(gaps.work.sum <= 0.1 * gaps.work.count);
}

// A job whose microbatches also have passes that only go forward.
Job random_compared_job(Dice& dice) {
  Job job = random_job(dice);
  job.strategy.pipeline = 1;
  job.strategy.data = job.cluster.gpus() / job.strategy.team();
  job.training.preferences.answers = dice.among({1, 2});
  job.training.preferences.reference = dice.among({Reference::model, Reference::adapters_off});
  if (job.training.preferences.reference == Reference::adapters_off) {
    job.training.adapters = {dice.among({8, 64}), 0, true, true, true, true};
  }
  job.training.preferences.mismatched = dice.one_in(4);
  return job;
}

TEST_CASE("bounds of strategies with passes without gradients are below what executing them takes") {
  Dice dice(20261201);
  const AllGaps gaps = gaps_of(80, dice, random_compared_job);
  tell(gaps);
  CHECK(gaps.time.count >= 200);
  CHECK(gaps.time.sum <= 0.08 * gaps.time.count);
}

// Jobs whose devices settle higher with paired passes than with those that run one after the other.
TEST_CASE("bounds hold at the clocks at which devices settle with paired passes") {
  for (const unsigned seed : {8624u, 13480u}) {
    CAPTURE(seed);
    Dice dice(seed);
    CHECK(gaps_of(1, dice, random_job, true).time.count > 0);
  }
}

TEST_CASE("bounds of strategies whose stages have shapes of their own are below what executing them takes") {
  Dice dice(20251125);
  const AllGaps gaps = gaps_of(250, dice, random_shaped_job);
  tell(gaps);
  CHECK(gaps.time.count >= 500);
  CHECK(gaps.time.sum <= 0.085 * gaps.time.count);
  CHECK(gaps.energy.sum <= 0.065 * gaps.energy.count);
}

TEST_CASE("no stage on two types runs its layers in less time than sites are left out by") {
  Dice dice(20261129);
  int checked = 0;
  for (int i = 0; i < 900; ++i) {
    CAPTURE(i);
    const Job job = random_mixed_job(dice);
    const StrategySpace space = pipelines_of(job, dice);
    if (!space.loops()) continue;
    SharedBlocks shared(space.demanding_schedule());
    const auto branch = branch_of(job, space, shared);
    if (!branch) continue;
    const std::vector<double> seconds = layer_seconds_of(job, space, shared);
    if (!seconds.empty()) checked += check_layers(*branch, seconds, dice);
  }
  MESSAGE(checked << " strategies on two types");
  CHECK(checked >= 400);
}

TEST_CASE("a layer's time falls no faster than its clock rises") {
  constexpr double rounding = 1e-4;
  Dice dice(39);
  int priced = 0;
  for (int i = 0; i < 80; ++i) {
    CAPTURE(i);
    const Job job = random_job(dice);
    if (first_violation({job.model, job.training, job.framework, job.strategy, job.cluster.gpus()})) continue;
    try {
      const ShardedBlocks blocks = shard_blocks(job);
      StageCosts costs = LayoutCosts(job, job.strategy).costs.front();
      for (const LayerBlocks& layer : layer_blocks(job, blocks)) {
        FoldedBody before;
        for (const double clock : {0.5, 0.6, 0.75, 0.9, 1.0}) {
          costs.kernels.set_clock_share(clock);
          const BlockBodies bodies = price_block(job, blocks.of(layer.recomputed), costs);
          FoldedBody both = bodies.folded_forward;
          append(both, bodies.folded_backward);
          CHECK(static_cast<double>(both.device) * clock >= static_cast<double>(before.device) * (1 - rounding));
          CHECK(static_cast<double>(both.kernels) * clock >= static_cast<double>(before.kernels) * (1 - rounding));
          before.device = static_cast<Picoseconds>(static_cast<double>(both.device) * clock);
          before.kernels = static_cast<Picoseconds>(static_cast<double>(both.kernels) * clock);
          ++priced;
        }
      }
    } catch (const Error& error) {
      REQUIRE(error.kind() == ErrorKind::infeasible);
    }
  }
  CHECK(priced > 300);
}
