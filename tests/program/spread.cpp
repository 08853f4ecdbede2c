// Many iterations of a job whose cluster's factors are drawn: what has to hold of each, and of all.

#include "simulation/spread.hpp"
#include "base/random.hpp"
#include "job_fixture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace mirfak;
using namespace mirfak::test;

namespace {

Distribution lognormal(double sigma) { return Distribution(Distribution::Lognormal{1, sigma}); }
Distribution always(double value) { return Distribution(Distribution::Measured{value}); }

Perturbations everything() {
  Perturbations out;
  out.drawn_ranks = {lognormal(0.05), lognormal(0.1), lognormal(0.2)};
  out.drawn_nodes.compute = Distribution(Distribution::TwoPoint{0.2, 1.1});
  out.drawn_ports = lognormal(0.3);
  out.drawn_iterations.compute = lognormal(0.03);
  out.jitter.compute = Distribution(Distribution::Normal{1, 0.02});
  out.tokens = Distribution(Distribution::Measured{0.8, 0.9, 1.0, 1.3});
  return out;
}

std::vector<double> times(const Spread& spread) {
  std::vector<double> out;
  for (const SampledIteration& sample : spread.samples) out.push_back(sample.time_s);
  return out;
}

Spread sampled(const Job& job, int samples, std::uint64_t seed = 1, bool antithetic = false) {
  return sample_iterations(job, {samples, seed, antithetic, 0});
}

// Links are shared in the second, where buckets of gradients meet transfers.
std::vector<Job> jobs() {
  Strategy overlapped = sized(1, 8, 2);
  overlapped.zero = 1;
  overlapped.overlap_grad_reduce = true;
  return {small_job(4, 2, sized(2, 4, 2), 32), small_job(4, 2, overlapped, 32)};
}

}  // namespace

TEST_CASE("factors of 1 change nothing: every sample is the iteration, to the last bit") {
  for (const Job& job : jobs()) {
    Perturbations ones;
    ones.drawn_ranks = {always(1), lognormal(0), always(1)};
    ones.drawn_ports = ones.drawn_nodes.compute = ones.jitter.compute = ones.tokens = always(1);
    const Spread found = sampled(perturbed_by(job, ones), 4);
    const double expected = simulate(job, {true, false}).result.iteration_time_s;
    CHECK(found.without_s == expected);
    for (const SampledIteration& sample : found.samples) {
      CHECK(sample.time_s == expected);
      CHECK(!sample.cause);
      CHECK(!sample.binding);
      CHECK(sample.waste_j == 0);
    }
  }
}

TEST_CASE("a sample of fixed factors is the single iteration with these") {
  for (const Job& job : jobs()) {
    Perturbations fixed;
    fixed.ranks = {{3, {.compute = 1.4, .communication = 1.2, .host = 2}}, {9, {.communication = 3}}};
    fixed.ports = {{4, 1.5}};
    const double expected = simulate(perturbed_by(job, fixed)).result.iteration_time_s;
    fixed.drawn_nodes.compute = always(1);
    const Spread found = sampled(perturbed_by(job, fixed), 2);
    CHECK(found.samples.front().time_s == doctest::Approx(expected).epsilon(1e-9));
    CHECK(found.without_s < expected);
  }
}

// Without factors the tasks of a sample's critical path take no longer than the iteration.
TEST_CASE("what causes add to a sample's critical path is what the sample takes longer, or more") {
  for (const Job& job : jobs()) {
    const Spread found = sampled(perturbed_by(job, everything()), 40);
    for (const SampledIteration& sample : found.samples) {
      double added = 0;
      for (const double seconds : sample.excess_s) {
        added += seconds;
        CHECK(std::abs(seconds) < found.without_s);
      }
      CHECK(added >= sample.time_s - found.without_s * (1 + 1e-3));
    }
  }
}

TEST_CASE("one seed gives the same bits on any number of threads, another gives others") {
  const Job job = perturbed_by(jobs().front(), everything());
  for (const bool antithetic : {false, true}) {
    const Spread one = sample_iterations(job, {70, 5, antithetic, 1});
    for (const int threads : {2, 7}) {
      const Spread other = sample_iterations(job, {70, 5, antithetic, threads});
      CHECK(times(other) == times(one));
      CHECK(other.mean_waste_j == one.mean_waste_j);
      CHECK(other.binds == one.binds);
    }
    CHECK(times(sampled(job, 70, 6, antithetic)) != times(one));
    // More samples begin with the same ones.
    const std::vector<double> more = times(sampled(job, 100, 5, antithetic));
    CHECK(std::equal(more.begin(), more.begin() + 70, times(one).begin()));
  }
}

// Jitter and sequence lengths stretch a pass after it is folded. The host's work before the pass, its lead, is shorter
// the longer the kernels take, so a slower rank can make such a sample a little shorter.
TEST_CASE("what is slower makes no sample shorter: to the last bit of what ranks draw, nearly of what tasks do") {
  const Job job = jobs().front();
  for (const bool of_tasks : {false, true}) {
    Perturbations drawn = everything();
    if (!of_tasks) drawn.jitter = {};
    if (!of_tasks) drawn.tokens.reset();
    const double shortest = of_tasks ? 1 - 1e-3 : 1;
    const std::vector<double> base = times(sampled(perturbed_by(job, drawn), 40));
    std::vector<Perturbations> slower(4, drawn);
    slower[0].ranks[5] = {.compute = 1.3};
    slower[1].ranks[5] = {.communication = 1.3};
    slower[2].ports[2] = 2;
    slower[3].drawn_nodes.compute = Distribution(Distribution::TwoPoint{0.4, 1.1});
    if (of_tasks) slower.emplace_back(drawn).tokens = Distribution(Distribution::Measured{0.8, 1.0, 1.1, 1.3});
    for (const Perturbations& perturbations : slower) {
      const std::vector<double> found = times(sampled(perturbed_by(job, perturbations), 40));
      for (std::size_t i = 0; i < base.size(); ++i) CHECK(found[i] >= base[i] * shortest);
      CHECK(found != base);
    }
  }
}

TEST_CASE("percentiles of the slowest of eight replicas are those of the distribution, within their error bars") {
  const Job job = free_communication(small_job(4, 1, sized(1, 8, 1), 16));
  constexpr double sigma = 0.1;
  Perturbations drawn;
  drawn.drawn_ranks.compute = lognormal(sigma);
  const Spread found = sampled(perturbed_by(job, drawn), 1000, 3);
  CHECK(times(sampled(perturbed_by(job, drawn), 1000, 3)) == times(found));
  REQUIRE(found.quantiles.size() == 3);
  for (const SampleQuantile& of : found.quantiles) {
    const double expected = found.without_s * std::exp(sigma * normal_quantile(std::pow(of.share, 1.0 / 8)));
    INFO(of.share);
    REQUIRE(of.low);
    REQUIRE(of.high);
    CHECK(*of.low <= expected);
    CHECK(expected <= *of.high);
    CHECK(*of.low <= of.value);
    CHECK(of.value <= *of.high);
  }
  // Each of eight binds about as often as the others.
  REQUIRE(found.ranks.size() == 8);
  for (const BindingRank& rank : found.ranks) CHECK(std::abs(rank.samples - 125) < 50);
  CHECK(found.binds[static_cast<std::size_t>(Cause::rank)] > 990);
  CHECK(found.mean_waste_j > 0);
}

TEST_CASE("a rank that is much slower binds every time, and the others wait as long as it takes longer") {
  const Job job = free_communication(small_job(4, 1, sized(1, 8, 1), 16));
  Perturbations drawn;
  drawn.ranks[6] = {.compute = 2};
  drawn.drawn_ranks.compute = lognormal(0.01);
  const Spread found = sampled(perturbed_by(job, drawn), 50);
  REQUIRE(found.ranks.size() == 1);
  CHECK(found.ranks.front().rank == 6);
  CHECK(found.ranks.front().samples == 50);
  const double watts = job.cluster.gpu_of(0).blocked_w.value;
  CHECK(found.mean_waste_j == doctest::Approx(7 * watts * found.without_s).epsilon(0.02));
}

TEST_CASE("where microbatches follow each other, pairs of mirrored samples know the mean far better") {
  Strategy strategy = sized(8, 1, 1);
  strategy.micro_batch = 32;  // so that kernels take longer than the host to issue them
  const Job job = free_communication(small_job(4, 1, strategy, 512));
  Perturbations drawn;
  drawn.tokens = Distribution(Distribution::Normal{1, 0.2});
  const Spread paired = sampled(perturbed_by(job, drawn), 200, 1, true);
  CHECK(paired.time.error < paired.independent_error_s / 5);
  CHECK(paired.deviation_s == doctest::Approx(paired.without_s * 0.2 / 4).epsilon(0.25));
  const Spread independent = sampled(perturbed_by(job, drawn), 200, 1, false);
  CHECK(independent.time.error == independent.independent_error_s);
  CHECK(std::abs(independent.time.value - paired.time.value) < 4 * independent.time.error);
  CHECK(paired.binds[static_cast<std::size_t>(Cause::tokens)] > 50);
}

TEST_CASE("a link takes longer only for what leaves a node") {
  Perturbations drawn;
  drawn.drawn_ports = always(2);
  const Spread inside = sampled(perturbed_by(small_job(4, 1, sized(8, 1, 1), 16), drawn), 2);
  CHECK(inside.samples.front().time_s == inside.without_s);
  const Spread across = sampled(perturbed_by(small_job(4, 2, sized(8, 2, 1), 16), drawn), 2);
  CHECK(across.samples.front().time_s > across.without_s);
  CHECK(across.samples.front().cause == Cause::port);
}
