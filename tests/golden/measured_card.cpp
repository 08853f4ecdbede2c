// Jobs that ran on a card, against predictions from micro-benchmarks of that card alone (validate/measured/).

#include "base/csv.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "support/source_root.hpp"
#include "validation/validate_runs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

namespace measured_card_test {

using namespace mirfak;

namespace {

namespace fs = std::filesystem;

struct Errors {
  double sum = 0;
  double largest = 0;
  int count = 0;

  void add(double predicted, double measured) {
    const double error = std::abs(predicted / measured - 1);
    sum += error;
    largest = std::max(largest, error);
    ++count;
  }
  double mean() const { return sum / count; }
};

}  // namespace

TEST_CASE("iterations and energy of jobs on one card follow from its micro-benchmarks") {
  const fs::path root = source_root();
  const fs::path card = root / "validate/measured/h100-80gb-hbm3";
  const CsvTable summary = CsvTable::from_file(card / "summary.csv");
  REQUIRE(summary.rows() == 24);
  Errors time;
  Errors energy;
  for (std::size_t row = 0; row < summary.rows(); ++row) {
    const std::string& job = summary.text(row, summary.require("job"));
    CAPTURE(job);
    const Scenario scenario =
        load_scenario(card / "jobs" / (job + ".yaml"), {}, {root / "models", root / "hw_profiles"});
    const Simulation simulation = simulate(scenario.job, {.unfolded = true, .operators = true});
    const double measured_s = summary.number(row, summary.require("measured_s"), 1e-6, 1e6);
    const double measured_j = summary.number(row, summary.require("measured_j"), 1e-6, 1e9);
    CHECK(std::abs(simulation.result.iteration_time_s / measured_s - 1) < 0.08);
    time.add(simulation.result.iteration_time_s, measured_s);
    energy.add(simulation.result.energy_j, measured_j);
    // A GPU that ranks share draws no more than it can.
    for (const StageResult& stage : simulation.result.stages) CHECK(stage.average_power_w <= 700 * (1 + 1e-6));
  }
  MESSAGE("iterations: mean error " << 100 * time.mean() << " %, largest " << 100 * time.largest << " %");
  MESSAGE("energy: mean error " << 100 * energy.mean() << " %, largest " << 100 * energy.largest << " %");
  CHECK(time.mean() < 0.032);
  CHECK(energy.mean() < 0.03);
}

// No constant was fitted to any of these runs: what is whole, freed and copied when is read from PyTorch's code.
TEST_CASE("the peak that PyTorch's allocator reports follows from what exists when; steps that the GPU bounds, too") {
  const fs::path root = source_root();
  const fs::path folder = root / "validate/measured/h100-80gb-hbm3/torch";
  const RunMappings mappings = RunMappings::from_folder(root / "validate/published");
  const RunMapping own = mappings.own(folder / "steps.map.yaml");
  const std::vector<ValidatedRun> runs =
      validate_runs(CsvTable::from_file(folder / "steps.csv"), mappings, {root / "models", root / "hw_profiles"}, &own);
  Errors memory;
  Errors compiled;
  for (const ValidatedRun& run : runs) {
    CAPTURE(run.run.model);
    if (run.run.out_of_memory) {
      CHECK_FALSE(run.fits);
      continue;
    }
    REQUIRE(run.scored());
    CHECK(run.fits);
    memory.add(run.allocated_bytes.predicted, run.allocated_bytes.measured);
    constexpr double by_host = 0.1;  // seconds; shorter steps are what a host takes
    const bool eager = run.run.model.ends_with("-eager");
    if (!eager && run.seconds.measured > by_host) compiled.add(run.seconds.predicted, run.seconds.measured);
  }
  MESSAGE("peak memory: mean error " << 100 * memory.mean() << " %, largest " << 100 * memory.largest << " %");
  MESSAGE("compiled steps: mean error " << 100 * compiled.mean() << " %, largest " << 100 * compiled.largest << " %");
  CHECK(memory.count == 12);
  CHECK(memory.mean() < 0.004);
  CHECK(memory.largest < 0.01);
  CHECK(compiled.count == 8);
  // All too slow, as captured programs are (sim/files/capture/README.md): 2.4 %, too slow and too fast, before the
  // casts of FSDP2's shards counted.
  CHECK(compiled.mean() < 0.034);
}

}  // namespace measured_card_test
