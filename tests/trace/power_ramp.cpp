// Ramps that slow work: against small steps of time, and laws of the iterations that keep them.
#include "simulation/power_ramp.hpp"

#include "base/error.hpp"
#include "cluster/gpu_throttle.hpp"
#include "cluster/memory_draw.hpp"
#include "simulation/power_waveform.hpp"
#include "support/example.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <string>

using namespace mirfak;

namespace power_ramp_test {

namespace {

Example with_ramp(double share, double w_per_s, const LoweringOptions& options = {},
                  const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides = more;
  overrides.push_back("cluster.power_floor={share: " + std::to_string(share) +
                      ", ramp_down_w_per_s: 2000, ramp_up_w_per_s: " + std::to_string(w_per_s) +
                      ", ramp_up_slows_work: true}");
  return example(overrides, options);
}

double total_of(const std::vector<double>& series) { return std::accumulate(series.begin(), series.end(), 0.0); }

}  // namespace

// Work that draws the limit ex factory takes 1 / speed times as long under a limit below the floor of the voltage.
TEST_CASE("work that may draw less is as fast as under a power limit of so much") {
  GpuSpec gpu = example().simulation.job.cluster.gpu_of(0);
  const double tdp_w = gpu.tdp_w.value;
  const WorkUnderLimit work(gpu, 1, tdp_w);
  CHECK(work.speed(tdp_w) == 1);
  CHECK(work.speed(0.8 * tdp_w) == doctest::Approx(std::pow(0.8, 1 / kPowerExponent)));
  const double at_floor = std::pow(kVoltageFloorLimit, 1 / kPowerExponent);
  for (double watts = gpu.blocked_w.value; watts < kVoltageFloorLimit * tdp_w; watts += 7) {
    GpuSpec limited = gpu;
    limit_power(limited, watts);
    CAPTURE(watts);
    CHECK(work.speed(watts) == doctest::Approx(at_floor / limited.throttle.stretch));
    CHECK(WorkUnderLimit(limited, 1, watts + 0.5).speed(watts) <= 1);
  }
  for (double watts = gpu.blocked_w.value; watts < tdp_w; watts += 11) {
    double sum = 0;
    constexpr int kSteps = 2000;
    for (int i = 0; i < kSteps; ++i) sum += work.speed(watts + (tdp_w - watts) * (i + 0.5) / kSteps);
    CHECK(work.speed_times_watts(watts, tdp_w) == doctest::Approx(sum * (tdp_w - watts) / kSteps).epsilon(1e-5));
  }
}

TEST_CASE("a task on a ramp does its work, by small steps of time") {
  const Example e = example();
  const StagePlan& plan = e.simulation.plans.front();
  const GpuSpec& gpu = plan.costs.hardware->hardware.gpu;
  const double waiting_w = gpu.blocked_w.value;
  for (const double w_per_s : {100.0, 700.0, 5000.0}) {
    const PowerFloor floor{0.4, 1000, w_per_s, true};
    const PowerRamp ramp(floor, plan);
    CHECK(ramp.least_w() == std::max(waiting_w, 0.4 * gpu.limit_w()));
    CHECK(ramp.after_wait(300, to_picoseconds(0.05)) == doctest::Approx(250));
    for (const double seconds : {0.02, 0.3, 4.0}) {
      const double full_w = 330;
      const WorkUnderLimit work(gpu, plan.costs.kernels.clock_share(), full_w);
      const RampedTask run = ramp.run(ramp.least_w(), to_picoseconds(seconds), (full_w - waiting_w) * seconds);
      constexpr double kStep_s = 1e-5;
      double done_s = 0;
      double time_s = 0;
      while (done_s < seconds) {
        done_s += kStep_s * work.speed(std::min(full_w, ramp.least_w() + w_per_s * (time_s + kStep_s / 2)));
        time_s += kStep_s;
      }
      CAPTURE(w_per_s);
      CAPTURE(seconds);
      CHECK(to_seconds(run.lasting) == doctest::Approx(time_s).epsilon(2e-3));
      CHECK(run.end_w == doctest::Approx(std::min(full_w, ramp.least_w() + w_per_s * time_s)).epsilon(2e-3));
      CHECK(ramp.run(full_w, to_picoseconds(seconds), (full_w - waiting_w) * seconds).lasting ==
            to_picoseconds(seconds));
    }
  }
}

TEST_CASE("ramps without end change nothing, and tighter ones make no iteration shorter") {
  for (const double share : {0.0, 0.5, 0.8}) {
    CAPTURE(share);
    const std::string floor = "cluster.power_floor={share: " + std::to_string(share) + ", ramp_down_w_per_s: 2000}";
    const IterationResult free = example({floor}).simulation.result;
    IterationResult before = with_ramp(share, 1e6).simulation.result;
    CHECK(before.iteration_time_s == doctest::Approx(free.iteration_time_s).epsilon(1e-3));
    CHECK(before.energy_j == doctest::Approx(free.energy_j).epsilon(1e-3));
    for (const double w_per_s : {30000.0, 8000.0, 2000.0, 700.0, 250.0}) {
      const IterationResult now = with_ramp(share, w_per_s).simulation.result;
      CHECK(now.iteration_time_s >= before.iteration_time_s);
      before = now;
    }
    CHECK(before.iteration_time_s > 1.001 * free.iteration_time_s);
  }
}

TEST_CASE("with ramps that slow work, the integral of the power is the energy, and no GPU rises faster") {
  constexpr double kUp = 900;
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, std::vector<std::string>{"strategy={tensor: 2, micro_batch: 1}"}}) {
    const Example e = with_ramp(0.6, kUp, {}, more);
    const IterationResult& result = e.simulation.result;
    for (const double interval_s : {1e-3, 0.1}) {
      const PowerWaveform of = power_waveform(e.simulation, interval_s);
      CHECK(total_of(of.gpus_w) * of.interval_s == doctest::Approx(result.energy_j).epsilon(1e-9));
      for (const PowerUnit& gpu : of.gpus) {
        for (std::size_t i = 0; i < gpu.watts.size(); ++i) {
          const double rise_w = gpu.watts[(i + 1) % gpu.watts.size()] - gpu.watts[i];
          REQUIRE(rise_w <= kUp * of.interval_s * (1 + 1e-6) + 1e-6);
        }
      }
    }
    // Ranks of a single stage are alike and do not wait for others.
    const double longer_s = seconds_on_ramps(e.simulation.program, e.simulation.timeline);
    const double free_s = example(more).simulation.result.iteration_time_s;
    CHECK(longer_s > 0);
    if (e.simulation.job.strategy.pipeline == 1) {
      CHECK(result.iteration_time_s - free_s == doctest::Approx(longer_s).epsilon(0.02));
    }
    double of_stages = 0;
    for (std::size_t i = 0; i < result.stages.size(); ++i) {
      of_stages += result.stages[i].average_power_w * e.simulation.plans[i].gpus() * result.iteration_time_s;
    }
    CHECK(of_stages == doctest::Approx(result.energy_j).epsilon(1e-9));
    const Example unfolded = with_ramp(0.6, kUp, {.unfolded = true}, more);
    CHECK(unfolded.simulation.timeline.makespan == e.simulation.timeline.makespan);
    CHECK(unfolded.simulation.result.energy_j == doctest::Approx(result.energy_j).epsilon(1e-9));
  }
}

TEST_CASE("ramps that slow work settle on shared links, too, and are refused where they do not settle") {
  const std::vector<std::string> sharing = {"cluster.nodes[0].count=4", "strategy.tensor=8", "strategy.pipeline=2",
                                            "strategy.overlap_grad_reduce=true", "training.framework=megatron-core"};
  const Example e = with_ramp(0.6, 900, {}, sharing);
  REQUIRE(e.simulation.program.shares_links());
  const Example free = example(sharing);
  CHECK(e.simulation.timeline.makespan > free.simulation.timeline.makespan);
  const PowerWaveform of = power_waveform(e.simulation, 1e-3);
  CHECK(total_of(of.gpus_w) * of.interval_s == doctest::Approx(e.simulation.result.energy_j).epsilon(1e-9));
  CHECK_THROWS_WITH_AS(
      example({"cluster.power_floor={ramp_down_w_per_s: 1e-4, ramp_up_w_per_s: 1e-3, ramp_up_slows_work: true}"}),
      doctest::Contains("power has not settled"), Error);
}

}  // namespace power_ramp_test
