// Ranges of energy from the widths of time, GPUs' power and hosts' power, by hand.
#include "scenario/scenario.hpp"
#include "simulation/figures.hpp"
#include "simulation/iteration.hpp"
#include "simulation/prediction_range.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace mirfak;

namespace energy_range_test {

namespace {

Job job_of(const std::string& node) {
  const std::string text = "model: llama3-8b\ncluster: {nodes: [{count: 1, type: " + node +
                           "}], pue: 1.2}\n"
                           "training: {global_batch: 8, sequence_length: 2048, precision: bf16}\n"
                           "strategy: {tensor: 8}\n";
  const std::string source = source_root();
  return parse_scenario(Document::from_text(text, "energy.yaml"), {source + "/models", source + "/hw_profiles"}).job;
}

IterationResult with(Job job, const PowerWidths& power) {
  job.ranges.power = power;
  return simulate(std::move(job)).result;
}

// The distance of an end of a range from its figure, in logarithms.
double above(double high, double figure) { return std::log(high / figure); }

}  // namespace

TEST_CASE("the range of energy has the squares of the distances of time and of power") {
  const Job job = job_of("hgx-h100");
  REQUIRE(job.ranges.known());
  const IterationResult of = with(job, {{0.05, 0.1}, {}});
  const double time_above = above(of.iteration_time_high_s, of.iteration_time_s);
  const double time_below = above(of.iteration_time_s, of.iteration_time_low_s);
  CHECK(above(of.energy_high_j, of.energy_j) == doctest::Approx(std::hypot(time_above, 0.1)));
  CHECK(above(of.energy_j, of.energy_low_j) == doctest::Approx(std::hypot(time_below, 0.05)));
  CHECK(of.machine_energy_high_j == 0);  // nothing is known of hosts
  // Power that is known exactly leaves the range of the time.
  const IterationResult exact = with(job, {{1e-12, 1e-12}, {}});
  CHECK(exact.energy_high_j / exact.energy_j == doctest::Approx(of.iteration_time_high_s / of.iteration_time_s));
  CHECK(with(job, {}).energy_high_j == 0);
  Job unknown = job;
  unknown.ranges.level = 0;
  CHECK(with(unknown, {{0.05, 0.1}, {0.5, 0.5}}).energy_high_j == 0);
}

TEST_CASE("hosts widen the range of the machine's energy by their watts, and what a cluster does without by its own") {
  const PowerWidths widths{{0.05, 0.1}, {0.3, 0.5}};
  const auto watts_above = [&](const IterationResult& of) {
    const double by_time = above(of.iteration_time_high_s, of.iteration_time_s);
    const double all = above(of.machine_energy_high_j, of.machine_energy_j);
    return std::expm1(std::sqrt(all * all - by_time * by_time)) * of.machine_energy_j / of.iteration_time_s;
  };
  const Job built = job_of("hgx-h100");
  const NodeSpec& node = built.cluster.groups().front().hardware.spec;
  const IterationResult of = with(built, widths);
  const double gpus_w = of.average_power_w * std::expm1(0.1);
  CHECK(watts_above(of) == doctest::Approx(std::hypot(gpus_w, node.host_power_w.value * std::expm1(0.5))));
  const IterationResult immersed = with(job_of("hgx-h100, cooling: immersion, feed: direct-current"), widths);
  const double fans_w = node.fan_power_w->value;
  const double losses_w = node.supply_loss_w->value;
  const double left_w = node.host_power_w.value - fans_w - losses_w;
  const double hosts_w = std::sqrt(left_w * left_w + fans_w * fans_w + losses_w * losses_w) * std::expm1(0.5);
  CHECK(watts_above(immersed) == doctest::Approx(std::hypot(gpus_w, hosts_w)));
}

TEST_CASE("the facility's energy has the machine's range, and the cost that of the time") {
  const Job job = job_of("hgx-h100");
  const IterationResult of = with(job, {{0.05, 0.1}, {0.3, 0.5}});
  const auto figure = [&](const char* key) { return figure_value(key, of, job.cluster.facility()); };
  CHECK(figure("facility_energy_high_j").number / figure("facility_energy_j").number ==
        doctest::Approx(of.machine_energy_high_j / of.machine_energy_j));
  CHECK(figure("cost_low_usd_per_iteration").number / figure("cost_usd_per_iteration").number ==
        doctest::Approx(of.iteration_time_low_s / of.iteration_time_s));
  CHECK(figure("energy_low_j").known);
  IterationResult none = of;
  none.energy_high_j = 0;
  CHECK_FALSE(figure_value("energy_low_j", none, job.cluster.facility()).known);
}

}  // namespace energy_range_test
