// Power over captured steps: its integral is the energy of the step, whatever the interval.
#include "capture/captured_power.hpp"

#include "base/error.hpp"
#include "capture/capture_figures.hpp"
#include "capture/capture_file.hpp"
#include "capture_texts.hpp"
#include "captured_parts.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <string>

using namespace mirfak;
using namespace mirfak::test;

namespace captured_power_test {

namespace {

CapturedScenario shipped(const std::string& name, const std::string& cluster) {
  const std::string text =
      "capture: " + source_root() + "/scenarios/capture/" + name + ".capture\ncluster: " + cluster + "\n";
  return read_captured_scenario(Document::from_text(text, "step.yaml"), sources());
}

double total_of(const std::vector<double>& series) { return std::accumulate(series.begin(), series.end(), 0.0); }

}  // namespace

TEST_CASE("the integral of a captured step's power is its energy, and its parts add up") {
  for (const char* name : {"fsdp", "pipeline", "stages"}) {
    CAPTURE(name);
    const CapturedScenario scenario =
        shipped(name, "{nodes: [{type: hgx-h100, count: 1}], pue: 1.1, network_power_w: 300}");
    const CaptureSimulation simulation = simulate(scenario, sources());
    const CaptureResult& result = simulation.result;
    for (const double interval_s : {1e-3, 7e-3, 1.0}) {
      const PowerReport report = power_report(scenario, simulation, interval_s);
      const PowerWaveform& of = report.waveform;
      CHECK(of.interval_s * static_cast<double>(of.intervals()) == doctest::Approx(result.iteration_s).epsilon(1e-9));
      CHECK(total_of(of.gpus_w) * of.interval_s == doctest::Approx(result.energy_j).epsilon(1e-9));
      const double machine_j = result.energy_j + (result.host_power_w + 300) * result.iteration_s;
      CHECK(total_of(of.machine_w) * of.interval_s == doctest::Approx(machine_j).epsilon(1e-9));
      CHECK(result.facility.machine_energy_j == doctest::Approx(machine_j).epsilon(1e-9));
      double parts_j = 0;
      for (const std::vector<double>& part : of.parts_w) parts_j += total_of(part) * of.interval_s;
      CHECK(parts_j == doctest::Approx(result.energy_j).epsilon(1e-9));
    }
    REQUIRE(result.power);
    CHECK(result.power->peak_w >= result.energy_j / result.iteration_s * (1 - 1e-9));
    const Facility none;
    for (const FigureValue& value : figure_values(result, none)) {
      if (value.key() == "power_peak_w") CHECK(value.number == result.power->peak_w);
    }
  }
}

TEST_CASE("a captured step that waits for communication draws in collectives what it does not draw in passes") {
  const CapturedScenario scenario = shipped("fsdp", "{nodes: [{type: hgx-h100, count: 1}]}");
  const CaptureSimulation simulation = simulate(scenario, sources());
  const PowerReport report = power_report(scenario, simulation, 1e-3);
  CHECK(simulation.result.host_power_w > 0);  // whether or not the cluster says anything of its facility
  CHECK(report.waveform.hosts_w.front() == simulation.result.host_power_w);
  CHECK(total_of(report.waveform.parts_w[static_cast<std::size_t>(PowerPart::passes)]) > 0);
  CHECK(total_of(report.waveform.gpus_in_collectives) > 0);
  CHECK(report.profile.swing_without_collectives_w <= simulation.result.power->swing_w * (1 + 1e-9));
}

TEST_CASE("resolutions that would write too much of a captured step are refused") {
  const CapturedScenario scenario = shipped("fsdp", "{nodes: [{type: hgx-h100, count: 1}]}");
  const CaptureSimulation simulation = simulate(scenario, sources());
  CHECK_THROWS_WITH_AS(power_report(scenario, simulation, simulation.result.iteration_s / 5e6),
                       doctest::Contains("million numbers"), Error);
}

}  // namespace captured_power_test
