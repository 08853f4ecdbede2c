// Experts that get unequally many tokens: by hand, and what has to stay as it is.

#include "cluster/expert_popularity.hpp"
#include "job_fixture.hpp"
#include "program/expert_load.hpp"
#include "simulation/spread.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr int kExperts = 16;
constexpr int kLayers = 3;
constexpr int kMicrobatches = 2;

Job mixture(int expert, ExpertDispatcher dispatcher = ExpertDispatcher::all_to_all) {
  Strategy strategy = sized(1, 16, 1);
  strategy.expert = expert;
  strategy.expert_dispatcher = dispatcher;
  strategy.micro_batch = 8;
  Job job = small_job(kLayers, 2, strategy, std::int64_t{16} * 8 * kMicrobatches);
  job.model.linear_bias = job.model.qkv_bias = false;
  job.model.mixture = {.experts = kExperts, .per_token = 2, .ffn = 2048, .shared_ffn = 0, .first_dense = 0, .every = 1};
  return job;
}

Job with_tokens(Job job, std::vector<double> tokens) {
  Perturbations perturbations;
  perturbations.experts = ExpertPopularity{0, std::move(tokens)};
  return perturbed_by(std::move(job), perturbations);
}

Job with_skew(Job job, double skew) {
  Perturbations perturbations;
  perturbations.experts = ExpertPopularity{skew, {}};
  return perturbed_by(std::move(job), perturbations);
}

// Returns token counts of which the sixth expert's is twice the mean.
std::vector<double> one_twice() {
  std::vector<double> out(kExperts, 14);
  out[5] = 30;
  return out;
}

IterationResult result_of(const Job& job) { return simulate(job).result; }

bool alike(IterationResult a, IterationResult b) {
  a.events = b.events = 0;
  return a == b;
}

// Sets the clock so low that power allows it whatever runs.
Job at_low_clock(Job job) {
  std::vector<NodeAllotment> nodes(job.cluster.groups().begin(), job.cluster.groups().end());
  for (NodeAllotment& of : nodes) of.hardware.spec.clock_hz = 600e6;
  job.cluster = Cluster(std::move(nodes), job.cluster.fabric());
  return job;
}

// Returns how much longer one layer's kernels with rows of experts take with twice as many rows.
double gain_of_layer(const Job& job) {
  const ShardedBlocks blocks = shard_blocks(job);
  const std::vector<StagePlan> plans = plan_stages(job, blocks);
  const StagePlan& plan = plans.front();
  const PartitionedBlock& layer = blocks.of(plan.chunks.front().block(1));
  PartitionedBlock twice = layer;
  scale_expert_rows(twice.graph, 2);
  KernelModel kernels = plan.costs.kernels;
  kernels.set_clock_share(1, job.hardware_of(0, 0).hardware.clock_limit());
  double out = 0;
  for (const std::vector<BlockStep>* steps : {&layer.forward, &layer.backward}) {
    for (const BlockStep& step : *steps) {
      if (step.kind != BlockStep::Kind::kernel || is_where_tokens_are(layer.graph.op(step.op))) continue;
      out += to_seconds(to_picoseconds(kernels.price(twice, step).seconds)) -
             to_seconds(to_picoseconds(kernels.price(layer, step).seconds));
    }
  }
  return out;
}

double part(const IterationResult& result, Activity activity) {
  return result.activity_s[static_cast<std::size_t>(activity)];
}

std::vector<double> sample_times(const Job& job, int samples, int threads = 0) {
  std::vector<double> out;
  for (const SampledIteration& of : sample_iterations(job, {samples, 3, true, threads}).samples) {
    out.push_back(of.time_s);
  }
  return out;
}

}  // namespace

TEST_CASE("loads of experts: measured over their mean, by the law none above what a token can send") {
  CHECK(ExpertPopularity{0, {3, 1, 1, 1}}.loads(4, 2) == std::vector<double>{2, 2 / 3.0, 2 / 3.0, 2 / 3.0});
  CHECK(fullest_rank({2, 2 / 3.0, 2 / 3.0, 2 / 3.0}, 2) == doctest::Approx(4 / 3.0));
  CHECK(fullest_rank({2, 2 / 3.0, 2 / 3.0, 2 / 3.0}, 4) == 2);
  CHECK(fullest_rank({2, 2 / 3.0, 2 / 3.0, 2 / 3.0}, 1) == 1);
  CHECK(ExpertPopularity{0, {0.1, 0.1, 0.1}}.loads(3, 1) == std::vector<double>{1, 1, 1});
  const std::vector<double> zipf = ExpertPopularity{1, {}}.loads(4, 1);
  CHECK(zipf[0] / zipf[2] == doctest::Approx(3));
  CHECK(std::accumulate(zipf.begin(), zipf.end(), 0.0) == doctest::Approx(4));
  const std::vector<double> steep = ExpertPopularity{3, {}}.loads(8, 4);
  CHECK(std::accumulate(steep.begin(), steep.end(), 0.0) == doctest::Approx(8));
  CHECK(steep.front() == 2);
  CHECK(*std::max_element(steep.begin(), steep.end()) <= 2 * (1 + 1e-12));
  CHECK(std::is_sorted(steep.rbegin(), steep.rend()));
}

TEST_CASE("the fullest of random placements lies between the mean and the most popular together") {
  const std::vector<double> loads = ExpertPopularity{0.8, {}}.loads(kExperts, 2);
  const std::vector<double> found = fullest_ranks(loads, 4, 500, 1);
  REQUIRE(found.size() == 500);
  CHECK(std::is_sorted(found.begin(), found.end()));
  CHECK(found.front() > 1);
  CHECK(found.back() <= fullest_rank(loads, 4) * (1 + 1e-12));
  for (const double load : fullest_ranks(loads, kExperts, 10, 1)) CHECK(load == loads.front());
  // Two experts, of which one gets all, of four on two ranks: they share one in a third of the placements.
  const std::vector<double> pairs = fullest_ranks({2, 2, 0, 0}, 2, 3000, 1);
  const auto together = static_cast<double>(std::count(pairs.begin(), pairs.end(), 2.0));
  CHECK(together / 3000 == doctest::Approx(1 / 3.0).epsilon(0.08));
}

TEST_CASE("equal experts change nothing, to the last bit; nor do unequal ones where each rank has all") {
  for (const int expert : {4, 16}) {
    CHECK(alike(result_of(mixture(expert)), result_of(with_tokens(mixture(expert), std::vector<double>(16, 0.3)))));
  }
  CHECK(alike(result_of(mixture(1)), result_of(with_tokens(mixture(1), one_twice()))));
}

TEST_CASE("an expert with twice the tokens lengthens the iteration by what its rank's kernels take longer") {
  const Job even = at_low_clock(free_communication(mixture(kExperts)));
  const IterationResult before = result_of(even);
  const IterationResult after = result_of(with_tokens(even, one_twice()));
  const double expected = kLayers * kMicrobatches * gain_of_layer(even);
  CHECK(expected > 0.05 * before.iteration_time_s);
  CHECK(after.iteration_time_s - before.iteration_time_s == doctest::Approx(expected).epsilon(1e-6));
  // As much is done as before, but one rank holds more.
  CHECK(after.model_flop == doctest::Approx(before.model_flop).epsilon(1e-12));
  CHECK(after.hardware_tflops_per_gpu * after.iteration_time_s ==
        doctest::Approx(before.hardware_tflops_per_gpu * before.iteration_time_s).epsilon(1e-9));
  CHECK(after.memory_peak_bytes > before.memory_peak_bytes);
  // Four ranks with four experts each: (30 + 3 * 14) / 4 of 15.
  CHECK(expert_load(with_tokens(mixture(4), one_twice())) == doctest::Approx(1.2));
}

namespace {

Job with_capacity(Job job, double factor, bool pad) {
  job.training.expert_capacity_factor = factor;
  job.training.pad_to_capacity = pad;
  return job;
}

}  // namespace

TEST_CASE("a capacity drops what popular experts have beyond it, and fills up what others lack where they are padded") {
  const Job popular = with_tokens(mixture(kExperts), one_twice());
  // The sixth takes 1.2 of its 2, the 15 others 14/15 each.
  CHECK(expert_rows(with_capacity(popular, 1.2, false)) == doctest::Approx((14 + 1.2) / 16));
  CHECK(expert_load(with_capacity(popular, 1.2, false)) == doctest::Approx(1.2 * 16 / (14 + 1.2)));
  CHECK(expert_rows(with_capacity(popular, 3, false)) == doctest::Approx(1));
  CHECK(expert_load(with_capacity(popular, 3, false)) == doctest::Approx(2));
  CHECK(expert_rows(with_capacity(popular, 1.2, true)) == 1.2);
  CHECK(expert_load(with_capacity(popular, 1.2, true)) == doctest::Approx(1));
  CHECK(expert_rows(with_capacity(mixture(4), 0.5, false)) == 0.5);
  // Equal experts are never too many for a capacity of 1.
  CHECK(alike(result_of(mixture(4)), result_of(with_capacity(mixture(4), 1, false))));
  CHECK(alike(result_of(mixture(4)), result_of(with_capacity(mixture(4), 1, true))));
}

TEST_CASE(
    "experts that are padded to twice their rows take as long as with twice the rows, and do no more of the model") {
  const Job even = at_low_clock(free_communication(mixture(kExperts)));
  const IterationResult before = result_of(even);
  const IterationResult padded = result_of(with_capacity(even, 2, true));
  const double expected = kLayers * kMicrobatches * gain_of_layer(even);
  CHECK(padded.iteration_time_s - before.iteration_time_s > 0.99 * expected);
  CHECK(padded.model_flop == doctest::Approx(before.model_flop).epsilon(1e-9));
  CHECK(padded.memory_peak_bytes > before.memory_peak_bytes);
  const double more = padded.hardware_tflops_per_gpu * padded.iteration_time_s -
                      before.hardware_tflops_per_gpu * before.iteration_time_s;
  CHECK(more > 0);
  const IterationResult dropped = result_of(with_capacity(even, 0.5, false));
  CHECK(dropped.iteration_time_s < before.iteration_time_s);
  CHECK(dropped.model_flop < before.model_flop);
  const auto exchange = [](const Job& job) { return part(result_of(job), Activity::expert_communication); };
  CHECK(exchange(with_capacity(mixture(kExperts), 2, true)) / exchange(mixture(kExperts)) > 1.6);
}

TEST_CASE("exchanges carry the rows of the fullest rank, but a gather brings all tokens anyway") {
  const auto growth = [](ExpertDispatcher dispatcher) {
    const Job job = mixture(kExperts, dispatcher);
    return part(result_of(with_tokens(job, one_twice())), Activity::expert_communication) /
           part(result_of(job), Activity::expert_communication);
  };
  CHECK(growth(ExpertDispatcher::all_to_all) > 1.6);
  CHECK(growth(ExpertDispatcher::all_to_all) < 2.001);
  CHECK(growth(ExpertDispatcher::all_gather) == doctest::Approx(1).epsilon(1e-9));
}

TEST_CASE("where each rank has one expert, every sample of Zipf's law is the iteration with its most popular one") {
  const Job job = mixture(kExperts);
  const double expected = result_of(with_tokens(job, ExpertPopularity{0.5, {}}.loads(kExperts, 2))).iteration_time_s;
  const double even = result_of(job).iteration_time_s;
  CHECK(expected > even);
  for (const double time : sample_times(with_skew(job, 0.5), 4)) CHECK(time == doctest::Approx(expected).epsilon(1e-9));
  for (const double time : sample_times(with_skew(job, 0), 4)) CHECK(time == even);
  for (const double time : sample_times(with_skew(mixture(1), 0.5), 4))
    CHECK(time == result_of(mixture(1)).iteration_time_s);
}

TEST_CASE("placements of popular experts are drawn for each layer and microbatch: one seed, the same bits") {
  const Job job = with_skew(mixture(4), 0.8);
  const std::vector<double> times = sample_times(job, 60);
  CHECK(sample_times(job, 60, 1) == times);
  CHECK(sample_times(job, 60, 5) == times);
  const double even = result_of(mixture(4)).iteration_time_s;
  const double most = result_of(with_tokens(mixture(4), ExpertPopularity{0.8, {}}.loads(kExperts, 2))).iteration_time_s;
  for (const double time : times) {
    CHECK(time > even);
    CHECK(time <= most * (1 + 1e-9));
  }
  CHECK(*std::max_element(times.begin(), times.end()) > *std::min_element(times.begin(), times.end()));
  const Spread spread = sample_iterations(job, {60, 3, true, 0});
  CHECK(spread.without_s == doctest::Approx(even).epsilon(1e-9));
  CHECK(spread.binds[static_cast<std::size_t>(Cause::experts)] == 60);
}

// Exchanges of two nodes, beside gradients, over half the links that both need.
TEST_CASE("drawn experts have more to exchange over shared links, at the same rate") {
  const auto over_nodes = [](Job job) {
    job.strategy.overlap_grad_reduce = true;
    const Cluster nodes = nodes_on("{type: fat-tree, leaf_ports: 8, oversubscription: 2}", 2);
    const std::vector<NodeAllotment> groups(nodes.groups().begin(), nodes.groups().end());
    job.cluster = Cluster(groups, nodes.fabric(), job.cluster.perturbations());
    return job;
  };
  const Job job = over_nodes(mixture(kExperts));
  CHECK(simulate(job).program.shares_links());
  const std::vector<double> loads = ExpertPopularity{0.5, {}}.loads(kExperts, 2);
  const double expected = result_of(over_nodes(with_tokens(mixture(kExperts), loads))).iteration_time_s;
  const double even = result_of(job).iteration_time_s;
  CHECK(expected > even);
  // The latency weighs less in a longer exchange, which so asks for a little more of the links.
  for (const double time : sample_times(over_nodes(with_skew(mixture(kExperts), 0.5)), 4)) {
    CHECK(time > even);
    CHECK(time > 0.9 * expected);
    CHECK(time < expected * (1 + 1e-6));
  }
}
