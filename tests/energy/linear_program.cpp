// The cheapest plan for one deadline as a linear program, solved by COIN-OR's Clp: minimise the sum of y_a, where
//   t_head - t_tail - offset >= fastest corner,
//   y_a >= cost at a corner + slope x (span - corner), for every segment (the curve is convex), y_a >= 0,
//   t_sink - t_source <= deadline.

#include "energy/program_network.hpp"
#include "energy/project_cost.hpp"
#include "profiles.hpp"
#include "projects.hpp"

#include <doctest/doctest.h>
#include <ClpSimplex.hpp>

#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr double kWattsPerMicrowatt = 1e-6;

class PlanProgram {
 public:
  explicit PlanProgram(const ActivityNetwork& network) : network_(network) {
    model_.setLogLevel(0);
    const int events = static_cast<int>(network.events);
    model_.resize(0, events + static_cast<int>(network.arcs.size()));
    model_.setColumnBounds(0, 0, 0);
    for (std::size_t arc = 0; arc < network.arcs.size(); ++arc) add_arc(arc, events + static_cast<int>(arc));
  }

  double min_cost_j(Picoseconds deadline) {
    model_.setColumnBounds(static_cast<int>(network_.sink()), 0, to_seconds(deadline));
    model_.dual();
    REQUIRE(model_.isProvenOptimal());
    return model_.objectiveValue();
  }

 private:
  void add_arc(std::size_t id, int cost_column) {
    const auto& arc = network_.arcs[id];
    const CostCurve& of = network_.curves[arc.curve];
    const double offset = to_seconds(arc.offset);
    model_.setObjectiveCoefficient(cost_column, 1);
    const int ends[] = {static_cast<int>(arc.head), static_cast<int>(arc.tail), cost_column};
    const double span[] = {1, -1};
    model_.addRow(2, ends, span, to_seconds(of.durations.back()) + offset, COIN_DBL_MAX);
    double cost = 0;
    for (std::size_t i = 0; i < of.prices.size(); ++i) {
      const double price = static_cast<double>(of.prices[i]) * kWattsPerMicrowatt;
      // y >= cost + price (duration - span)
      const double segment[] = {price, -price, 1};
      model_.addRow(3, ends, segment, cost + price * (to_seconds(of.durations[i]) + offset), COIN_DBL_MAX);
      cost += price * to_seconds(of.durations[i] - of.durations[i + 1]);
    }
  }

  const ActivityNetwork& network_;
  ClpSimplex model_;
};

// Compares at a tenth, two tenths ... of the way from the cheapest to the shortest project.
void check_against_linear_program(const ActivityNetwork& network) {
  ProjectCost shortest(network);
  const Picoseconds cheapest = shortest.makespan();
  shortest.shorten_to(0);
  PlanProgram program(network);
  ProjectCost project(network);
  for (int tenth = 1; tenth <= 10; ++tenth) {
    const Picoseconds deadline = cheapest - (cheapest - shortest.makespan()) / 10 * tenth;
    project.shorten_to(deadline);
    CHECK(project.cost_j() == doctest::Approx(program.min_cost_j(deadline)).epsilon(1e-6));
  }
}

}  // namespace

TEST_CASE("random projects of a hundred events") {
  std::mt19937 random(1);
  for (int i = 0; i < 5; ++i) {
    check_against_linear_program(random_project({100, 120, 10, 8, 1'000'000'000'000, 100'000'000}, random));
  }
}

TEST_CASE("pipelines of uneven stages, under every schedule") {
  const StageProfile uneven = simple_profile({0.010, 0.0123, 0.008, 0.0111});
  check_against_linear_program(network_of(pipeline(uneven, 12)).network);
  check_against_linear_program(network_of(pipeline(uneven, 12, schedule_named("gpipe"))).network);
  check_against_linear_program(network_of(pipeline(uneven, 12, schedule_named("interleaved-1f1b"), 2)).network);
}

TEST_CASE("measured passes of GPT-3 175B") {
  const std::filesystem::path measured = shared_file(kGpt3Profile);
  if (measured.empty()) {
    MESSAGE("skipped: no measured profiles beside the source tree");
    return;
  }
  check_against_linear_program(
      network_of(pipeline(read_stage_profile(measured), 12, schedule_named("1f1b"), 1, kA100BlockedW)).network);
}
