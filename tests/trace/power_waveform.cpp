// The laws of power over time: its integral is the iteration's energy, folding changes nothing, no mean over the
// limiter's window is above a limit, and the figures are those of the waveform.
#include "simulation/power_waveform.hpp"

#include "base/error.hpp"
#include "simulation/figures.hpp"
#include "simulation/power_grid.hpp"
#include "support/example.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

using namespace mirfak;

namespace {

double sum_of(const std::vector<double>& series) { return std::accumulate(series.begin(), series.end(), 0.0); }

// Folded and unfolded, by passes and by operators, with stages that wait, and with collectives beside passes.
std::vector<Example> powered() {
  std::vector<Example> out;
  out.push_back(example());
  out.push_back(example({}, {.unfolded = true}));
  out.push_back(example({}, {.operators = true}));
  out.push_back(example({"strategy.overlap_grad_reduce=true", "strategy.zero=1"}));
  out.push_back(example({"strategy.virtual_pipeline=1", "strategy.schedule=gpipe", "cluster.nodes[0].clock_mhz=1005"}));
  out.push_back(example({"cluster.nodes[0].gpu_power_limit_w=300"}));
  return out;
}

// Largest mean over the intervals of a window, around the end of the period.
double highest_mean(const std::vector<double>& means, std::size_t window) {
  double highest = 0;
  for (std::size_t i = 0; i < means.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < window; ++j) sum += means[(i + j) % means.size()];
    highest = std::max(highest, sum / static_cast<double>(window));
  }
  return highest;
}

}  // namespace

TEST_CASE("the integral of the power is the energy of the iteration, at every resolution") {
  for (const Example& e : powered()) {
    for (const double interval_s : {1e-3, 7e-3, 0.1, 1.0}) {
      const PowerWaveform of = power_waveform(e.simulation, interval_s);
      CHECK(static_cast<double>(of.intervals()) * of.interval_s == doctest::Approx(of.iteration_s).epsilon(1e-12));
      CHECK(sum_of(of.gpus_w) * of.interval_s == doctest::Approx(e.simulation.result.energy_j).epsilon(1e-9));
      double of_parts = 0;
      for (const std::vector<double>& part : of.parts_w) of_parts += sum_of(part);
      CHECK(of_parts == doctest::Approx(sum_of(of.gpus_w)).epsilon(1e-9));
      double of_gpus = 0;
      int gpus = 0;
      for (const PowerUnit& unit : of.gpus) {
        of_gpus += unit.count * sum_of(unit.watts);
        gpus += unit.count;
      }
      CHECK(gpus == e.simulation.job.cluster.physical_gpus());
      CHECK(of_gpus == doctest::Approx(sum_of(of.gpus_w)).epsilon(1e-9));
      double of_nodes = 0;
      for (const PowerUnit& unit : of.nodes) of_nodes += unit.count * sum_of(unit.watts);
      CHECK(of_nodes == doctest::Approx(sum_of(of.gpus_w) + sum_of(of.hosts_w)).epsilon(1e-9));
    }
  }
}

TEST_CASE("folded and unfolded programs have one waveform, of each GPU and node too") {
  for (const std::vector<std::string>& overrides :
       {std::vector<std::string>(), {"strategy.overlap_grad_reduce=true", "strategy.zero=1"}}) {
    const PowerWaveform folded = power_waveform(example(overrides).simulation, 1e-3);
    const PowerWaveform all = power_waveform(example(overrides, {.unfolded = true}).simulation, 1e-3);
    REQUIRE(folded.intervals() == all.intervals());
    for (std::size_t i = 0; i < all.intervals(); ++i) {
      REQUIRE(folded.gpus_w[i] == doctest::Approx(all.gpus_w[i]).epsilon(1e-9));
    }
    REQUIRE(folded.gpus.size() == all.gpus.size());
    for (std::size_t i = 0; i < all.gpus.size(); ++i) {
      CHECK(folded.gpus[i].first == all.gpus[i].first);
      CHECK(folded.gpus[i].count == all.gpus[i].count);
      CHECK(folded.gpus[i].watts == all.gpus[i].watts);
    }
    CHECK(folded.nodes.size() == all.nodes.size());
  }
}

TEST_CASE("no mean over the limiter's window is above a GPU's limit") {
  for (const Example& e : powered()) {
    const double limit_w = e.simulation.job.cluster.gpu_of(0).limit_w();
    for (const double interval_s : {1e-3, 1e-2, 0.1}) {
      const PowerWaveform of = power_waveform(e.simulation, interval_s);
      const auto window = static_cast<std::size_t>(std::max(1.0, std::ceil(kLimitWindow_s / of.interval_s)));
      for (const PowerUnit& gpu : of.gpus) CHECK(highest_mean(gpu.watts, window) <= limit_w * (1 + 1e-9));
    }
  }
}

TEST_CASE("power above a limit is drawn where there is room, and none is lost") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> watts(0, 2);
  for (int draw = 0; draw < 200; ++draw) {
    std::vector<double> means(1 + random() % 40);
    for (double& mean : means) mean = watts(random);
    const std::vector<double> before = means;
    const std::size_t window = 1 + random() % 5;
    const double mean = sum_of(means) / static_cast<double>(means.size());
    hold_to_limit(means, 1.2, window);
    if (mean >= 1.2) {
      CHECK(means == before);
      continue;
    }
    CHECK(sum_of(means) == doctest::Approx(sum_of(before)).epsilon(1e-9));
    CHECK(highest_mean(means, std::min(window, means.size())) <= 1.2 * (1 + 1e-9));
    CHECK(*std::min_element(means.begin(), means.end()) >= 0);
  }
}

TEST_CASE("the figures are those of means over 10 ms") {
  const Example e = example();
  const PowerWaveform of = power_waveform(e.simulation, kPowerFigureInterval_s);
  const PowerFigures figures = figures_of_power(of.gpus_w, of.interval_s);
  const auto value = [&](const char* key) { return figure_value(key, e.simulation.result).number; };
  CHECK(value("power_peak_w") == doctest::Approx(figures.peak_w).epsilon(1e-9));
  CHECK(value("power_swing_w") == doctest::Approx(figures.swing_w).epsilon(1e-9));
  CHECK(value("power_max_ramp_w_per_s") == doctest::Approx(figures.max_ramp_w_per_s).epsilon(1e-9));
  CHECK(value("power_peak_w") >= value("average_power_w"));
  CHECK(value("power_peak_w") <= 16 * e.simulation.job.cluster.gpu_of(0).limit_w());
}

// 100 W for a quarter of a second, 300 W for the rest. The lines of a pulse of height h that lasts a share d are
// 2 h |sin(pi k d)| / (pi k): 141.4, 63.66 * 1, 141.4 / 3, 0, ... of h = 200 / ... = 200 W.
TEST_CASE("the lines of a pulse are those in the books, in frequency and amplitude") {
  std::vector<double> means(4096, 300);
  std::fill_n(means.begin(), 1024, 100);
  const std::vector<PowerLine> lines = power_spectrum(means, 1);
  REQUIRE(lines.size() == 20);
  for (std::size_t k = 1; k <= lines.size(); ++k) {
    const double expected = 2 * 200 * std::abs(std::sin(std::numbers::pi * static_cast<double>(k) / 4)) /
                            (std::numbers::pi * static_cast<double>(k));
    CHECK(lines[k - 1].frequency_hz == doctest::Approx(static_cast<double>(k)));
    CHECK(lines[k - 1].amplitude_w == doctest::Approx(expected).epsilon(1e-4).scale(100));
  }
  CHECK(strongest(lines, 2)[0].frequency_hz == doctest::Approx(1));
  CHECK(strongest(lines, 2)[1].frequency_hz == doctest::Approx(2));
}

// At 0.05 Hz and above, a period of 40 s has lines from its second on.
TEST_CASE("lines outside the band are absent") {
  std::vector<double> means(4096, 0);
  means[0] = 1;
  CHECK(power_spectrum(means, 40).front().frequency_hz == doctest::Approx(0.05));
  CHECK(power_spectrum(means, 0.04).empty());
}

// A step of 0 to 1 every second, with a time constant of 0.1 s: a low-pass keeps the mean, and weakens a line of
// frequency f by sqrt(1 + (2 pi f 0.1)^2).
TEST_CASE("a time constant weakens each line as a low-pass does, and keeps the mean") {
  std::vector<double> means(4096, 0);
  std::fill_n(means.begin(), 1000, 1);
  const std::vector<PowerLine> before = power_spectrum(means, 1);
  std::vector<double> smoothed = means;
  smooth(smoothed, 1.0 / 4096, 0.1);
  const std::vector<PowerLine> after = power_spectrum(smoothed, 1);
  CHECK(sum_of(smoothed) == doctest::Approx(sum_of(means)).epsilon(1e-12));
  for (std::size_t k = 0; k < before.size(); ++k) {
    const double angle = 2 * std::numbers::pi * before[k].frequency_hz * 0.1;
    CHECK(after[k].amplitude_w == doctest::Approx(before[k].amplitude_w / std::sqrt(1 + angle * angle)).epsilon(1e-4));
  }
}

TEST_CASE("waiting in collectives adds to the swing of a job whose replicas wait for each other") {
  const PowerProfile profile = power_profile(example({"strategy.overlap_grad_reduce=false"}).simulation);
  CHECK(profile.swing_without_collectives_w >= 0);
  CHECK(profile.strongest.size() <= 10);
  for (std::size_t i = 1; i < profile.strongest.size(); ++i) {
    CHECK(profile.strongest[i - 1].amplitude_w >= profile.strongest[i].amplitude_w);
  }
}

TEST_CASE("a resolution whose series have too many numbers is refused with its remedy") {
  const Simulation simulation = example().simulation;
  try {
    power_waveform(simulation, simulation.result.iteration_time_s / 5e6);
    FAIL("it is too fine");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(std::string(error.what()).find("--power-resolution") != std::string::npos);
  }
}
