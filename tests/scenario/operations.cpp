#include "fixture.hpp"

#include "base/units.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "training/course.hpp"
#include "training/prediction.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

namespace mirfak {

namespace {

constexpr double kDay = 24 * kSecondsPerHour;

Scenario scenario_with(const std::string& operations, const std::vector<std::string>& overrides = {}) {
  Document document = Document::from_text(
      "model: gpt3-1.3b\ncluster: {nodes: [{type: dgx-a100-80g, count: 4}]}\ntraining: {global_batch: 96}\n"
      "strategy: {tensor: 2}\noperations: " +
          operations + "\n",
      "test.yaml");
  for (const std::string& assignment : overrides) document.override_value(assignment);
  return parse_scenario(document, test::data_folders());
}

Operations operations_of(const std::string& text) { return *scenario_with(text).operations; }

}  // namespace

TEST_CASE("rates are of components, and become those of the job") {
  const Operations read = operations_of(
      "{iterations: 10, repair_s: 60, failures: {rate_per_node_day: 0.25, components: ["
      "{name: gpu, per: gpu, mtbf_hours: 24}, {name: link, per: link, rate_per_day: 2},"
      "{name: rack, per: group, nodes: 3, rate_per_day: 1}, {name: code, per: job, rate_per_day: 5}]}}");
  const std::vector<FailureCause>& causes = read.failures.causes;
  REQUIRE(causes.size() == 5);
  CHECK(causes[0].rate_per_s * kDay == doctest::Approx(4 * 0.25));
  CHECK(causes[1].rate_per_s * kDay == doctest::Approx(32));
  CHECK(causes[2].rate_per_s * kDay == doctest::Approx(2 * 4 * 8));  // 8 ports of each node
  CHECK(causes[3].rate_per_s * kDay == doctest::Approx(2));          // two groups of up to 3
  CHECK(causes[4].rate_per_s * kDay == doctest::Approx(5));
  CHECK(causes[3].nodes == 3);
  CHECK(causes[4].nodes == 0);
  CHECK(causes[0].repair_s == 60);
  CHECK(causes[4].repair_s == 0);
}

TEST_CASE("the profile of Llama 3 adds up to 419 interruptions of 2,048 nodes in 54 days") {
  const Scenario scenario =
      scenario_with("{iterations: 10, failures: {profile: llama3-h100}}",
                    {"cluster.nodes[0].type=hgx-h100", "cluster.nodes[0].count=2048", "training.global_batch=8192"});
  CHECK(scenario.operations->failures.rate_per_s() * 54 * kDay == doctest::Approx(419).epsilon(1e-4));
}

TEST_CASE("a checkpoint's time follows from its bytes and the storage") {
  const Scenario scenario =
      scenario_with("{iterations: 10, checkpoint: {storage_bandwidth: 1e10, node_bandwidth: 1e9}}");
  const double bytes = checkpoint_bytes(scenario.job, *scenario.operations->storage);
  CHECK(bytes == doctest::Approx(count_parameters(scenario.job.model).total * (2 + 12)));
  const std::vector<IterationResult> phases = {simulate(scenario.job).result};
  const auto stall = [&](const char* overrides) {
    const Scenario other = scenario_with(overrides);
    return training_course(other.job, *other.operations, phases).calendar.tiers().back().stall_s;
  };
  CHECK(stall("{iterations: 10, checkpoint: {storage_bandwidth: 1e10, node_bandwidth: 1e9}}") ==
        doctest::Approx(bytes / 4e9));
  CHECK(stall("{iterations: 10, checkpoint: {storage_bandwidth: 1e9, node_bandwidth: 1e9}}") ==
        doctest::Approx(bytes / 1e9));
  CHECK(stall("{iterations: 10, checkpoint: {node_bandwidth: 1e9, sharded: false}}") == doctest::Approx(bytes / 1e9));
}

TEST_CASE("a ramp trains with fewer sequences first, and the rest of the tokens follow") {
  const Scenario scenario =
      scenario_with("{batch_ramp: [{iterations: 100, global_batch: 48}]}", {"training.tokens=196608000"});
  const TrainingPrediction found = predict_training(scenario.job, *scenario.operations, 1, 1);
  CHECK(found.course.calendar.iterations() == 100 + 950);  // 96,000 sequences, 4,800 of them in the ramp
  const std::vector<WorkPhase>& phases = found.course.calendar.phases();
  CHECK(phases[0].iteration_s < phases[1].iteration_s);
  CHECK(found.estimate.finish_p50_s.value == 100 * phases[0].iteration_s + 950 * phases[1].iteration_s);
}

TEST_CASE("the last iterations of the full batch may have a precision of their own") {
  const std::vector<std::string> narrow = {"cluster.nodes[0].type=hgx-h100", "training.precision=fp8-current"};
  const char* const with_ramp =
      "{iterations: 1000, batch_ramp: [{iterations: 200, global_batch: 48}], last_iterations: {share: 0.25, precision: "
      "bf16}}";
  const Scenario scenario = scenario_with(with_ramp, narrow);
  const TrainingPrediction found = predict_training(scenario.job, *scenario.operations, 1, 1);
  const std::vector<WorkPhase>& phases = found.course.calendar.phases();
  REQUIRE(phases.size() == 3);
  CHECK(phases[0].iterations == 200);
  CHECK(phases[1].iterations == 600);  // three quarters of 800
  CHECK(phases[2].iterations == 200);
  Job wide = scenario.job;
  wide.training.precision = "bf16";
  CHECK(phases[1].iteration_s == simulate(scenario.job).result.iteration_time_s);
  CHECK(phases[2].iteration_s == simulate(wide).result.iteration_time_s);
  CHECK(found.iteration.iteration_time_s == phases[1].iteration_s);
  CHECK(found.estimate.finish_p50_s.value ==
        doctest::Approx(200 * phases[0].iteration_s + 600 * phases[1].iteration_s + 200 * phases[2].iteration_s));
}

TEST_CASE("energy of a training is that of its iterations while nothing happens") {
  const Scenario scenario = scenario_with("{iterations: 1000}", {"cluster.pue=1.5", "cluster.carbon_g_per_kwh=100"});
  const IterationResult iteration = simulate(scenario.job).result;
  const TrainingPrediction found = predict_training(scenario.job, *scenario.operations, 1, 1);
  CHECK(found.estimate.energy_j == doctest::Approx(1000 * iteration.machine_energy_j));
  CHECK(found.estimate.facility_energy_j == doctest::Approx(1000 * iteration.facility_energy_j));
  CHECK(found.estimate.co2_kg == doctest::Approx(1000 * iteration.co2_kg));
  CHECK(found.estimate.cost_usd == doctest::Approx(1000 * iteration.cost_usd));
  CHECK(iteration.machine_energy_j ==
        doctest::Approx(iteration.energy_j + scenario.job.cluster.host_power_w() * iteration.iteration_time_s));
  CHECK(iteration.facility_energy_j == doctest::Approx(1.5 * iteration.machine_energy_j));
  CHECK(iteration.co2_kg == doctest::Approx(iteration.facility_energy_j / 3.6e6 * 0.1));
}

TEST_CASE("a lower power limit draws less and is never faster, and a cap is a limit of each GPU") {
  double before_s = 0;
  double before_w = 1e30;
  for (const char* limit : {"400", "370", "340", "310", "285", "219", "180", "120", "90", "70"}) {
    const Scenario scenario =
        scenario_with("{iterations: 1}", {"training.global_batch=960", "strategy.micro_batch=4",
                                          std::string("cluster.nodes[0].gpu_power_limit_w=") + limit});
    const IterationResult result = simulate(scenario.job).result;
    CAPTURE(limit);
    CHECK(result.iteration_time_s >= before_s);
    CHECK(result.average_power_w <= before_w);
    CHECK(result.average_power_w / 32 <= std::stod(limit));
    before_s = result.iteration_time_s;
    before_w = result.average_power_w;
    const Scenario capped =
        scenario_with("{iterations: 1}", {"training.global_batch=960", "strategy.micro_batch=4",
                                          "cluster.power_cap_w=" + std::to_string(32 * std::stoi(limit))});
    CHECK(simulate(capped.job).result.iteration_time_s == result.iteration_time_s);
  }
}

TEST_CASE("the resolved scenario has the section, limits and facility, and reads back as the same") {
  const Scenario scenario =
      scenario_with("{iterations: 1000, failures: {rate_per_node_day: 0.1}, checkpoint: {write_s: 5}}",
                    {"cluster.power_cap_w=10000", "cluster.carbon_g_per_kwh=france", "cluster.network_power_w=500",
                     "cluster.embodied={kg_per_gpu: 150, lifetime_years: 4}"});
  const Scenario again = parse_scenario(Document::from_text(scenario.resolved, "again.yaml"), test::data_folders());
  CHECK(again.resolved == scenario.resolved);
  REQUIRE(again.operations);
  CHECK(again.operations->failures.causes.size() == 1);
  CHECK(simulate(again.job).result == simulate(scenario.job).result);
}

}  // namespace mirfak
