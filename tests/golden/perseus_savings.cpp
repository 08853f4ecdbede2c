// What Perseus saved without slowing an iteration down (arXiv 2312.06902; published-savings.csv), against the frontier
// of a scenario of each pipeline: nothing of it is measured, neither the passes nor their power. Bounds are what the
// models reach today, rounded up.

#include "base/csv.hpp"
#include "energy/frontier.hpp"
#include "energy/scenario_clocks.hpp"
#include "scenario/scenario.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

const std::filesystem::path kSource = source_root();
const std::filesystem::path kFolder = kSource / "scenarios" / "papers" / "perseus";

ClockedProgram program_of(const std::filesystem::path& scenario) {
  return clocked_program(load_scenario(scenario, {}, DataFolders{kSource / "models", kSource / "hw_profiles"}).job);
}

// In percent of the energy at the highest clocks, for iterations that take so many percent longer.
double saving_of(const std::filesystem::path& scenario, double slowdown) {
  const ClockedProgram clocked = program_of(scenario);
  const double highest_j = execute_clocks(clocked, highest_clocks(clocked)).energy_j;
  const Frontier curve = frontier(clocked);
  const auto energy_j = curve.min_energy_j(curve.t_min_s * (1 + slowdown / 100));
  REQUIRE(energy_j.has_value());
  return 100 * (1 - *energy_j / highest_j);
}

}  // namespace

TEST_CASE("savings that Perseus published, from scenarios") {
  const CsvTable table = CsvTable::from_file(kFolder / "published-savings.csv");
  REQUIRE(table.rows() == 8);
  int near = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& scenario = table.text(row, table.require("scenario"));
    const double saved = saving_of(kFolder / scenario, table.number(row, table.require("slowdown_percent"), 0, 100));
    const double published = table.number(row, table.require("saving_percent"), 0, 100);
    INFO(scenario << ": " << saved << " of " << published << " %");
    CHECK(std::abs(saved - published) <= table.number(row, table.require("within_points"), 0, 100));
    near += std::abs(saved - published) <= 3 ? 1 : 0;
  }
  CHECK(near >= 6);
}

TEST_CASE("savings that Perseus published where another pipeline is slower, from scenarios") {
  const CsvTable table = CsvTable::from_file(kFolder / "published-straggler.csv");
  REQUIRE(table.rows() == 2);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& scenario = table.text(row, table.require("scenario"));
    const std::vector<double> slowdowns = {table.number(row, table.require("slowdown"), 1, 2)};
    const Frontier curve = frontier(program_of(kFolder / scenario), slowdowns);
    const StragglerPlan& plan = curve.plans.back();
    const double saved = 100 * plan.saving(plan.executed, curve.blocked_w);
    const double published = table.number(row, table.require("saving_percent"), 0, 100);
    INFO(scenario << ": " << saved << " of " << published << " %");
    CHECK(saved > 100 * curve.intrinsic_saving());
    CHECK(std::abs(saved - published) <= table.number(row, table.require("within_points"), 0, 100));
  }
}
