// A node type corrected by runs: measured ones are made by a machine whose time factors are known.

#include "validation/own_runs.hpp"

#include "base/failure.hpp"
#include "fixture.hpp"
#include "simulation/corrections.hpp"
#include "simulation/iteration.hpp"
#include "simulation/time_factors.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace own_runs_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr const char* kScenario =
    "model: llama3-8b\n"
    "cluster: {nodes: [{type: hgx-h100, count: 2}]}\n"
    "training: {global_batch: 64, sequence_length: 4096}\n"
    "strategy: {tensor: 4, sequence_parallel: true}\n";

// A folder with job.yaml, and tables of what it takes where everything takes `factors` times as long.
class OwnMachine {
 public:
  explicit OwnMachine(const TimeFactors& factors) : factors_(factors) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "job.yaml") << kScenario;
  }
  ~OwnMachine() { std::filesystem::remove_all(folder_); }
  OwnMachine(const OwnMachine&) = delete;
  OwnMachine& operator=(const OwnMachine&) = delete;

  Simulation predicted(const std::vector<std::string>& overrides) const { return simulate(job(overrides)); }
  double measured(const std::vector<std::string>& overrides) const {
    return simulate(with_time_factors(job(overrides), factors_)).result.iteration_time_s;
  }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::vector<ValidatedRun> runs(const std::string& rows) const {
    const CsvTable table = CsvTable::from_file(write("own.csv", rows));
    return validate_runs(table, mappings(), folders(), nullptr, true);
  }
  // tensor and nodes of each run
  std::string table(const std::vector<std::pair<int, int>>& layouts) const {
    std::string out = "scenario,measured.seconds,strategy.tensor,cluster.nodes[0].count\n";
    for (const auto& [tensor, nodes] : layouts) {
      const std::string size = std::to_string(tensor);
      const std::string count = std::to_string(nodes);
      out += "job.yaml," + std::to_string(measured({"strategy.tensor=" + size, "cluster.nodes[0].count=" + count})) +
             "," + size + "," + count + "\n";
    }
    return out;
  }

 private:
  Job job(const std::vector<std::string>& overrides) const {
    return load_scenario(folder_ / "job.yaml", overrides, folders()).job;
  }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / "mirfak-own-machine";
  TimeFactors factors_;
};

}  // namespace

TEST_CASE("rows that name a scenario run it with the keys of their cells") {
  const OwnMachine machine({1, 1, 1});
  const std::vector<ValidatedRun> runs = machine.runs(machine.table({{4, 2}, {8, 1}}));
  REQUIRE(runs.size() == 2);
  for (const ValidatedRun& run : runs) {
    INFO(run.skipped);
    REQUIRE(run.scored());
    CHECK(run.seconds.predicted == doctest::Approx(run.seconds.measured).epsilon(1e-5));
    CHECK(run.machine == "hgx-h100");
  }
  CHECK(contains(runs[1].scenario, "tensor: 8"));
  CHECK(contains(machine.runs("scenario,measured.seconds\nnone.yaml,1\n").front().skipped, "there is no scenario"));
  CHECK(contains(machine.runs("scenario,measured.seconds,gpus\njob.yaml,1,16\n").front().skipped,
                 "'gpus' means nothing together with a scenario"));
}

TEST_CASE("runs of a machine tell its time factors, and predict what they have not seen") {
  const OwnMachine machine({1.1, 1.5, 1});
  const std::vector<ValidatedRun> runs =
      machine.runs(machine.table({{1, 1}, {2, 1}, {4, 1}, {8, 1}, {2, 2}, {4, 2}, {8, 2}, {2, 4}}));
  const OwnRunsFit fit = fit_own_runs(runs, "own.csv");
  CHECK(fit.like == "hgx-h100");
  CHECK(fit.correction.source == "8 runs of own.csv");
  CHECK(fit.correction.factors.compute == doctest::Approx(1.1).epsilon(0.03));
  CHECK(fit.correction.factors.communication > 1.25);
  CHECK(fit.correction.factors.communication < 1.55);
  CHECK(fit.error_before() > 0.08);
  CHECK(fit.error_left_out() < 0.02);
  CHECK(fit.error_after() <= fit.error_left_out());

  // The correction as a profile gives the same seconds, says so, and is nearer to what was not measured.
  const std::string ours = machine.write("ours.yaml", corrected_node_yaml(fit)).string();
  const std::vector<std::string> other = {"strategy.tensor=4", "cluster.nodes[0].count=4"};
  std::vector<std::string> corrected = other;
  corrected.push_back("cluster.nodes[0].type=" + ours);
  const Simulation plain = machine.predicted(other);
  const Simulation better = machine.predicted(corrected);
  const double measured = machine.measured(other);
  CHECK(std::abs(better.result.iteration_time_s / measured - 1) < 0.02);
  CHECK(std::abs(plain.result.iteration_time_s / measured - 1) > 0.05);
  CHECK(better.result.iteration_time_low_s < measured);
  CHECK(better.result.iteration_time_high_s > measured);
  CHECK(better.result.iteration_time_high_s / better.result.iteration_time_low_s <
        plain.result.iteration_time_high_s / plain.result.iteration_time_low_s);
  REQUIRE(corrections_of(better.job).size() == 1);
  CHECK(contains(corrections_of(better.job).front(), "corrected by 8 runs of own.csv"));

  // A node type that was corrected is not corrected once more.
  const std::string again = "scenario,measured.seconds,cluster.nodes[0].type\njob.yaml,1.5," + ours + "\n";
  CHECK(contains(failure_of([&] { fit_own_runs(machine.runs(again), "own.csv"); }), "is corrected by runs already"));
}

TEST_CASE("a single run corrects a little") {
  const OwnMachine machine({1.2, 1.2, 1.2});
  const OwnRunsFit fit = fit_own_runs(machine.runs(machine.table({{4, 2}})), "own.csv");
  CHECK(fit.error_left_out() == 0);
  CHECK(fit.error_after() < fit.error_before());
  CHECK(fit.error_after() > 0.01);
  CHECK(fit.correction.source == "1 run of own.csv");
}

TEST_CASE("runs that one correction cannot describe are refused by their place") {
  const OwnMachine machine({1, 1, 1});
  const auto failure = [&](const std::string& rows) {
    return failure_of([&] { fit_own_runs(machine.runs(rows), "own.csv"); });
  };
  const std::string types =
      failure("scenario,measured.seconds,cluster.nodes[0].type\njob.yaml,1,hgx-h100\njob.yaml,1,hgx-h200\n");
  CHECK(contains(types, "own.csv:3:1: this run is on hgx-h200, those before it on hgx-h100"));
  CHECK(contains(types, "--only COLUMN=VALUE"));
  CHECK(contains(
      failure("scenario,measured.seconds,training.framework\njob.yaml,1,megatron-core\njob.yaml,1,megatron-lm-2022\n"),
      "under"));
  CHECK(contains(failure("scenario,measured.seconds,strategy.tensor\njob.yaml,1,3\n"), "no run of the table"));
}

}  // namespace own_runs_test
