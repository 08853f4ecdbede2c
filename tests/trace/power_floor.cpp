// The floor of power: exact against a fine grid by brute force, and its energy is that of the report.
#include "simulation/power_floor.hpp"

#include "base/error.hpp"
#include "simulation/power_grid.hpp"
#include "simulation/power_waveform.hpp"
#include "simulation/score.hpp"
#include "simulation/spread.hpp"
#include "support/example.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

using namespace mirfak;

namespace {

constexpr Picoseconds kSecond = 1'000'000'000'000;

double total_of(const std::vector<double>& series) { return std::accumulate(series.begin(), series.end(), 0.0); }

double joules_of(const std::vector<PowerSlope>& slopes) {
  double joules = 0;
  for (const PowerSlope& slope : slopes) joules += slope.joules();
  return joules;
}

}  // namespace

// One task of 10 s at 300 W above 100 W of waiting, then 10 s without work. Floor 0.5 x 400 = 200 W: 100 W for 10 s. At
// most 50 W/s: from 400 W to 200 W in 4 s, another 200 W x 4 s / 2; to 100 W in 6 s without a floor.
TEST_CASE("a floor and a steepest fall add what a pencil adds") {
  const std::vector<WorkEnergy> work = {{0, 10 * kSecond, 3000}};
  const Picoseconds end = 20 * kSecond;
  CHECK(joules_of(power_above_work({0.5, 0}, 400, 100, work, end)) == doctest::Approx(1000));
  CHECK(joules_of(power_above_work({0.5, 50}, 400, 100, work, end)) == doctest::Approx(1000 + 400));
  CHECK(joules_of(power_above_work({0, 50}, 400, 100, work, end)) == doctest::Approx(300.0 * 6 / 2));
  CHECK(joules_of(power_above_work({0.25, 0}, 400, 100, work, end)) == 0);
  // A fall that lasts longer than the pause: 10 W/s from 400 to 300 W, and the next iteration begins.
  CHECK(joules_of(power_above_work({0, 10}, 400, 100, work, end)) == doctest::Approx((300 + 200) / 2.0 * 10));
  // A rise by at most 50 W/s: the same ahead of the work. Both: lines that meet after 5 s, 50 W above the work.
  CHECK(joules_of(power_above_work({0, 0, 50}, 400, 100, work, end)) == doctest::Approx(300.0 * 6 / 2));
  CHECK(joules_of(power_above_work({0, 50, 50}, 400, 100, work, end)) == doctest::Approx((300 + 50) / 2.0 * 5 * 2));
  CHECK(joules_of(power_above_work({0.5, 50, 50}, 400, 100, work, end)) == doctest::Approx(1000 + 2 * 400));
}

TEST_CASE("the power with a floor is the least that keeps it, by brute force over small steps") {
  std::mt19937 random(5);
  const auto drawn = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  for (int draw = 0; draw < 50; ++draw) {
    constexpr int kSteps = 4000;  // of a millisecond
    const Picoseconds step = kSecond / 1000;
    std::vector<WorkEnergy> work;
    std::vector<double> watts(kSteps, 80);
    for (int task = drawn(6); task >= 0; --task) {
      const int first = drawn(kSteps - 1);
      const int last = first + 1 + drawn(kSteps - first - 1);
      const double power = 50 + drawn(300);
      work.push_back({first * step, last * step, power * (last - first) / 1000.0});
      for (int i = first; i < last; ++i) watts[static_cast<std::size_t>(i)] += power;
    }
    const PowerFloor floor{drawn(3) * 0.3, drawn(3) * 200.0, drawn(3) * 300.0};
    // The least series: as high as the work and the floor, and not below the step before less the steepest fall.
    std::vector<double> least = watts;
    double before = 0;
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 0; i < least.size(); ++i) {
        least[i] = std::max(watts[i], floor.share * 500);
        if (floor.ramp_down_w_per_s > 0) least[i] = std::max(least[i], before - floor.ramp_down_w_per_s / 1000);
        before = least[i];
      }
    }
    double after = 0;
    for (int round = 0; round < 2 && floor.ramp_up_w_per_s > 0; ++round) {
      for (std::size_t i = least.size(); i-- > 0;) {
        least[i] = std::max(least[i], after - floor.ramp_up_w_per_s / 1000);
        after = least[i];
      }
    }
    const double expected = (total_of(least) - total_of(watts)) / 1000;
    const double exact = joules_of(power_above_work(floor, 500, 80, work, kSteps * step));
    CHECK(exact == doctest::Approx(expected).epsilon(2e-3).scale(100));
  }
}

TEST_CASE("the energy of the floor is in the iteration's, and the integral of the power has it") {
  const auto with = [](const std::string& floor, const LoweringOptions& options = {}) {
    return example({"cluster.power_floor=" + floor}, options);
  };
  const double plain_j = example().simulation.result.energy_j;
  const double plain_swing_w = example().simulation.result.power->swing_w;
  for (const char* floor : {"{share: 0.6}", "{ramp_down_w_per_s: 500}", "{share: 0.8, ramp_down_w_per_s: 2000}",
                            "{ramp_up_w_per_s: 800}", "{share: 0.5, ramp_down_w_per_s: 900, ramp_up_w_per_s: 700}"}) {
    CAPTURE(floor);
    const Example e = with(floor);
    const IterationResult& result = e.simulation.result;
    CHECK(result.power_floor_energy_j > 0);
    CHECK(result.energy_j == doctest::Approx(plain_j + result.power_floor_energy_j).epsilon(1e-12));
    CHECK(result.iteration_time_s == example().simulation.result.iteration_time_s);
    CHECK(result.power->swing_w < plain_swing_w);
    double of_stages = 0;
    for (std::size_t i = 0; i < result.stages.size(); ++i) {
      of_stages += result.stages[i].average_power_w * e.simulation.plans[i].gpus() * result.iteration_time_s;
    }
    CHECK(of_stages == doctest::Approx(result.energy_j).epsilon(1e-9));
    for (const double interval_s : {1e-3, 7e-3, 0.1, 1.0}) {
      const PowerWaveform of = power_waveform(e.simulation, interval_s);
      CHECK(total_of(of.gpus_w) * of.interval_s == doctest::Approx(result.energy_j).epsilon(1e-9));
      CHECK(total_of(of.parts_w[static_cast<std::size_t>(PowerPart::floor)]) * of.interval_s ==
            doctest::Approx(result.power_floor_energy_j).epsilon(1e-9));
    }
    CHECK(with(floor, {.unfolded = true}).simulation.result.energy_j == doctest::Approx(result.energy_j).epsilon(1e-9));
  }
  const double share = 0.8;
  const Example floored = with("{share: 0.8}");
  const double least_w = share * floored.simulation.job.cluster.gpu_of(0).limit_w();
  for (const PowerUnit& gpu : power_waveform(floored.simulation, 1e-3).gpus) {
    for (const double watts : gpu.watts) REQUIRE(watts >= least_w * (1 - 1e-9));
  }
}

TEST_CASE("searches score the energy with the floor, and samples refuse it") {
  const Example e = example({"cluster.power_floor={share: 0.7}"});
  const ShardedBlocks blocks = shard_blocks(e.simulation.job);
  BodyCache bodies;
  const auto score =
      score_iteration(e.simulation.job, blocks, bodies, {}, {{}, memory_of_blocks(e.simulation.job, blocks)});
  REQUIRE(score);
  CHECK(score->energy_j == doctest::Approx(e.simulation.result.energy_j).epsilon(1e-12));
  const Example drawn = example(
      {"cluster.power_floor={share: 0.7}", "cluster.perturbations={ranks: {compute: {lognormal: {sigma: 0.02}}}}"});
  CHECK_THROWS_WITH_AS(sample_iterations(drawn.simulation.job, {}), doctest::Contains("cluster.power_floor"), Error);
}

// Kernels take all of the time of this one GPU: dummy work takes a tenth of it.
TEST_CASE("dummy work slows kernels by the share that is stated") {
  const auto time_of = [](const std::vector<std::string>& overrides) { return example(overrides).simulation.result; };
  const IterationResult plain = time_of({"cluster.power_floor={share: 0.6}"});
  const IterationResult slowed = time_of({"cluster.power_floor={share: 0.6, slowdown: 0.1}"});
  for (const Activity activity : {Activity::gemm, Activity::attention, Activity::memory_bound}) {
    const auto place = static_cast<std::size_t>(activity);
    CHECK(slowed.activity_s[place] == doctest::Approx(1.1 * plain.activity_s[place]).epsilon(1e-6));
  }
  const auto communication = static_cast<std::size_t>(Activity::tensor_communication);
  CHECK(slowed.activity_s[communication] == doctest::Approx(plain.activity_s[communication]).epsilon(1e-6));
  CHECK(slowed.iteration_time_s > plain.iteration_time_s);
  CHECK(slowed.iteration_time_s < 1.1 * plain.iteration_time_s * (1 + 1e-9));
}

// Replicas of one stage have nothing in common before the sum of gradients, which is not overlapped: each step makes
// the iteration longer by itself. Stages send less at once where replicas are not together.
TEST_CASE("staggered replicas take longer by their steps, and swing less together") {
  const double step_s = 0.05;
  const std::string staggered = "cluster.staggered_replicas={groups: 2, step_s: 0.05}";
  const std::string stages_of_one = "strategy={tensor: 2, micro_batch: 1}";
  const Example plain = example({stages_of_one});
  REQUIRE(plain.simulation.job.strategy.data == 8);
  const Example two = example({stages_of_one, staggered});
  const IterationResult& result = two.simulation.result;
  CHECK(two.simulation.timeline.makespan == plain.simulation.timeline.makespan + to_picoseconds(step_s));
  CHECK(result.power->swing_w < plain.simulation.result.power->swing_w);
  CHECK(result.power->peak_w < plain.simulation.result.power->peak_w * (1 + 1e-9));
  const PowerWaveform of = power_waveform(two.simulation, 1e-3);
  CHECK(total_of(of.gpus_w) * of.interval_s == doctest::Approx(result.energy_j).epsilon(1e-9));
  // Waiting is all that is added: the power of GPUs without work.
  const double waiting_w = two.simulation.job.cluster.gpu_of(0).blocked_w.value * result.gpus;
  CHECK(result.energy_j == doctest::Approx(plain.simulation.result.energy_j + waiting_w * step_s).epsilon(1e-9));
  const Example unfolded = example({stages_of_one, staggered}, {.unfolded = true});
  CHECK(unfolded.simulation.timeline.makespan == two.simulation.timeline.makespan);
  CHECK(unfolded.simulation.result.power->swing_w == doctest::Approx(result.power->swing_w).epsilon(1e-9));
  const Picoseconds of_stages = example().simulation.timeline.makespan;
  const Picoseconds later = example({staggered}).simulation.timeline.makespan;
  CHECK(later > of_stages);
  CHECK(later <= of_stages + to_picoseconds(step_s));
}

TEST_CASE("replicas are not staggered where they do not begin by themselves") {
  const auto refusal = [](const std::string& more) {
    try {
      example({"cluster.staggered_replicas={groups: 2, step_s: 0.05}", more});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal("cluster.perturbations={ranks: [{rank: 1, compute: 1.1}]}").find("perturbed ranks") !=
        std::string::npos);
  CHECK(refusal("cluster.nodes[0].type=dgx-a100-80g").empty());
}
