// Steps made by a machine whose kernels take longer than its profile says: the fit finds it, and what it writes
// predicts the steps better.

#include "validation/recorded_run.hpp"

#include "base/failure.hpp"
#include "fixture.hpp"
#include "simulation/iteration.hpp"
#include "simulation/time_factors.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr const char* kScenario =
    "model: llama3-8b\n"
    "cluster: {nodes: [{type: hgx-h100, count: 1}]}\n"
    "training: {global_batch: 16, sequence_length: 4096, framework: megatron-core}\n"
    "strategy: {tensor: 8, sequence_parallel: true}\n";

class RecordedMachine {
 public:
  RecordedMachine() {
    std::filesystem::create_directories(folder_);
    write("job.yaml", kScenario);
  }
  ~RecordedMachine() { std::filesystem::remove_all(folder_); }
  RecordedMachine(const RecordedMachine&) = delete;
  RecordedMachine& operator=(const RecordedMachine&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  Scenario scenario(const std::vector<std::string>& overrides = {}) const {
    return load_scenario(folder_ / "job.yaml", overrides, folders());
  }

 private:
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / "mirfak-recorded-run";
};

double kernels_s(const IterationResult& result) {
  double out = 0;
  for (const Activity each : {Activity::gemm, Activity::attention, Activity::memory_bound, Activity::optimizer}) {
    out += result.activity_s[static_cast<std::size_t>(each)];
  }
  return out;
}

Nanoseconds nanoseconds(double time) { return std::llround(1e9 * time); }

// Steps of this GPU time and length, which differ by a percent; two launches of a forward and of a backward pass each.
Recording steps_of(double gpu_s, double step_s, int count) {
  Recording out;
  out.file = "/somewhere/t.json";
  out.names = {"gemm"};
  out.classes = {{"gemm", false, false}};
  Nanoseconds start = 0;
  for (int i = 0; i < count; ++i) {
    const double scale = 1 + 0.005 * (i % 3);
    out.steps.push_back({"ProfilerStep#" + std::to_string(i), start, start + nanoseconds(scale * step_s)});
    for (int part = 0; part < 4; ++part) {
      RecordedKernel kernel;
      kernel.step = i;
      kernel.backward = part >= 2;
      kernel.start = start + nanoseconds(scale * gpu_s * part / 4);
      kernel.end = start + nanoseconds(scale * gpu_s * (part + 1) / 4);
      kernel.launch = start + part * (part >= 2 ? 7000 : 11000);
      kernel.launch_end = *kernel.launch + 3000;
      out.kernels.push_back(kernel);
    }
    start = out.steps.back().end;
  }
  return out;
}

}  // namespace

TEST_CASE("recorded steps correct the node type, and the corrected prediction is nearer to the steps left out") {
  const RecordedMachine machine;
  const Scenario scenario = machine.scenario();
  const IterationResult before = simulate(scenario.job).result;
  const IterationResult truth = simulate(with_time_factors(scenario.job, {1.25, 1, 1})).result;
  const std::vector<Recording> recordings{steps_of(kernels_s(truth), truth.iteration_time_s, 6)};
  const RecordedFit fit = fit_recorded_run(scenario, recordings, "megatron-core");
  CHECK(fit.fitted == 3);
  CHECK(fit.judged == 3);
  CHECK(fit.correction.factors.compute > 1.15);
  CHECK(fit.correction.factors.compute < 1.28);
  CHECK(std::abs(fit.correction.factors.communication - 1) < 0.1);
  REQUIRE(fit.parts.size() == 2);
  for (const RecordedPart& part : fit.parts) {
    CAPTURE(part.name);
    CHECK(part.error_after < 0.6 * part.error_before);  // shrunk towards the profile: three steps of a machine
    CHECK(part.spread == doctest::Approx(0.01).epsilon(1e-4));
  }

  const std::string node = machine.write("node.yaml", recorded_node_yaml(fit));
  const Scenario corrected = machine.scenario({"cluster.nodes[0].type=\"" + node + "\""});
  const IterationResult after = simulate(corrected.job).result;
  CHECK(after.iteration_time_s == doctest::Approx(fit.parts[1].corrected_s).epsilon(1e-3));
  CHECK(std::abs(after.iteration_time_s - truth.iteration_time_s) <
        0.4 * std::abs(before.iteration_time_s - truth.iteration_time_s));
}

TEST_CASE("the host's recorded times are a framework file that scenarios can name") {
  const RecordedMachine machine;
  const std::vector<Recording> recordings{steps_of(0.1, 0.2, 2)};
  const auto host = recorded_host(recordings);
  REQUIRE(host);
  const std::string text = recorded_framework_yaml(machine.scenario(), *host);
  CHECK(text.find("t.json, 2 steps: median of") != std::string::npos);
  CHECK(text.find("/somewhere") == std::string::npos);
  const std::string file = machine.write("ours.yaml", text);
  const Framework framework = machine.scenario({"training.framework=\"" + file + "\""}).job.framework;
  CHECK(framework.name == "ours");
  CHECK(host->backward_s == doctest::Approx(7e-6));
  CHECK(host->forward_s == doctest::Approx(11e-6));
}

TEST_CASE("what recorded steps cannot tell is refused") {
  const RecordedMachine machine;
  const std::vector<Recording> one{steps_of(0.1, 0.2, 1)};
  CHECK(failure_of([&] { fit_recorded_run(machine.scenario(), one, ""); }).find("fewer than two steps are recorded") !=
        std::string::npos);
  const std::vector<Recording> other{steps_of(100, 200, 2)};
  CHECK(failure_of([&] { fit_recorded_run(machine.scenario(), other, ""); }).find("it does not describe this run") !=
        std::string::npos);
  std::vector<Recording> idle{steps_of(0.1, 0.2, 2)};
  idle.front().kernels.clear();
  CHECK(failure_of([&] { fit_recorded_run(machine.scenario(), idle, ""); }).find("no kernel runs in the step") !=
        std::string::npos);
  CHECK_FALSE(recorded_host(idle));
}
