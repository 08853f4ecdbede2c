// The p90 of an iteration by the range of its prediction and by drawn perturbations, and the strategy with the least.

#include "plan/robust_choice.hpp"

#include "base/random.hpp"
#include "model/model_loader.hpp"
#include "small_spaces.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr double kLevel = 0.8;

std::vector<SimulatedStrategy> found_in(const SmallSpace& of) {
  SearchSpec spec;
  spec.space = of.space;
  spec.top = 4;
  std::vector<SimulatedStrategy> out;
  for (const FoundStrategy& found : search(of.job, spec, 1).strategies) out.push_back(simulate_found(found));
  REQUIRE(out.size() > 1);
  return out;
}

Perturbations slow_ranks(double share, double factor) {
  Perturbations out;
  out.drawn_ranks.compute = Distribution(Distribution::TwoPoint{share, factor});
  return out;
}

void set_range(SimulatedStrategy& strategy, double below, double above) {
  strategy.found.job.ranges.level = kLevel;
  strategy.iteration.iteration_time_low_s = strategy.iteration.iteration_time_s * below;
  strategy.iteration.iteration_time_high_s = strategy.iteration.iteration_time_s * above;
}

}  // namespace

TEST_CASE("without perturbations, 90 % of iterations end before the upper end of a range of 80 %") {
  SimulatedStrategy strategy = found_in(small_spaces().front()).front();
  set_range(strategy, 0.9, 1.4);
  const UncertainTime time = uncertain_time(strategy, {});
  const double predicted = strategy.iteration.iteration_time_s;
  // The 90th of 100 equally likely errors is the one of 89.5 %.
  const double expected = predicted * std::exp(std::log(1.4) * normal_quantile(0.895) / normal_quantile(0.9));
  CHECK(time.p90_s == doctest::Approx(expected).epsilon(1e-12));
  CHECK(time.p90_s < predicted * 1.4);
  CHECK(time.median_s == doctest::Approx(predicted).epsilon(0.01));
  CHECK(time.range_s == doctest::Approx(0.4 * predicted));
  CHECK(time.perturbed_s == 0);
}

TEST_CASE("drawn numbers of images make a time uncertain without perturbations") {
  SimulatedStrategy strategy = found_in(small_spaces().front()).front();
  Job& job = strategy.found.job;
  job.model = load_model("qwen3-vl-4b", std::filesystem::path(source_root()) / "models", {});
  job.training.sequence_length = 4096;
  job.training.images = {2, {{0, 1}, {4, 1}}};
  strategy.iteration = simulate(job).result;
  CHECK(uncertain_time(strategy, {}).excess_s[static_cast<std::size_t>(Cause::images)] > 0);
  job.training.images.counts.clear();
  CHECK(uncertain_time(strategy, {}).perturbed_s == 0);
}

TEST_CASE("slow ranks raise the p90, the more of them the more, and are told as the cause") {
  const SimulatedStrategy strategy = found_in(small_spaces().front()).front();
  const double predicted = strategy.iteration.iteration_time_s;
  const UncertainTime none = uncertain_time(strategy, {});
  CHECK(none.p90_s == predicted);
  const UncertainTime few = uncertain_time(strategy, slow_ranks(0.01, 1.5), 1);
  const UncertainTime many = uncertain_time(strategy, slow_ranks(0.5, 1.5), 1);
  CHECK(few.p90_s >= predicted * (1 - 1e-9));
  CHECK(many.p90_s > predicted * 1.2);
  CHECK(many.perturbed_s > few.perturbed_s);
  CHECK(many.excess_s[static_cast<std::size_t>(Cause::rank)] > 0);
  CHECK(many.excess_s[static_cast<std::size_t>(Cause::port)] == 0);
  const UncertainTime again = uncertain_time(strategy, slow_ranks(0.5, 1.5), 2);
  CHECK(again.p90_s == many.p90_s);
}

TEST_CASE("the robust strategy has the least p90 of all strategies found and their variants") {
  const std::vector<SimulatedStrategy> found = found_in(small_spaces().front());
  const Perturbations slow = slow_ranks(0.1, 2);
  const RobustChoice choice = robust_choice(found, slow);
  double least = uncertain_time(found.front(), slow).p90_s;
  CHECK(choice.fastest.time.p90_s == least);
  std::size_t candidates = 0;
  for (const SimulatedStrategy& strategy : found) {
    least = std::min(least, uncertain_time(strategy, slow).p90_s);
    for (const FoundStrategy& variant : strategy.found.variants) {
      least = std::min(least, uncertain_time(simulate_found(variant), slow).p90_s);
    }
    candidates += 1 + strategy.found.variants.size();
  }
  CHECK(choice.robust.time.p90_s == least);
  CHECK(choice.candidates == candidates);
}

TEST_CASE("of two strategies, the slower one with the narrow range is robust") {
  std::vector<SimulatedStrategy> found = found_in(small_spaces().front());
  found.erase(found.begin() + 2, found.end());
  for (SimulatedStrategy& strategy : found) strategy.found.variants.clear();
  set_range(found[0], 0.9, 3);
  set_range(found[1], 0.9, 1.01);
  REQUIRE(found[1].iteration.iteration_time_s < 2 * found[0].iteration.iteration_time_s);
  const RobustChoice choice = robust_choice(found, {});
  CHECK(choice.differs());
  CHECK(choice.robust.strategy.iteration.iteration_time_s == found[1].iteration.iteration_time_s);
  CHECK(choice.fastest.strategy.iteration.iteration_time_s == found[0].iteration.iteration_time_s);
}
