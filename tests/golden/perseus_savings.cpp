// Savings of Perseus at unchanged iteration times (arXiv 2312.06902; published-savings.csv), and while another
// pipeline is slow (published-straggler.csv), against the frontier of a scenario of each pipeline: nothing of it is
// measured, neither the passes nor their power, but where the table names a profile. Bounds are what the models reach
// today, rounded up.

#include "base/csv.hpp"
#include "energy/frontier.hpp"
#include "energy/profiled_pipeline.hpp"
#include "energy/scenario_clocks.hpp"
#include "energy/stage_profile.hpp"
#include "scenario/scenario.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

namespace perseus_savings_test {

using namespace mirfak;

namespace {

const std::filesystem::path kSource = source_root();
const std::filesystem::path kFolder = kSource / "scenarios" / "papers" / "perseus";

const std::filesystem::path kProfiles = kSource / ".." / "shared" / "perseus" / "stage_profile";

ClockedProgram program_of_scenario(const std::filesystem::path& scenario) {
  return clocked_program(load_scenario(scenario, {}, DataFolders{kSource / "models", kSource / "hw_profiles"}).job);
}

ClockedProgram program_of_profile(const std::filesystem::path& path, int microbatches, double blocked_w) {
  const StageProfile profile = read_stage_profile(path);
  const auto stages = static_cast<int>(profile.stages.size());
  return profiled_pipeline(profile, {stages, 1, microbatches, stages}, schedule_named("1f1b"), blocked_w);
}

// Returns what each pipeline saves while it waits for one that takes so many times as long, in percent, by slowdown.
std::vector<double> savings_beside_straggler(const ClockedProgram& clocked, const std::vector<double>& slowdowns) {
  const Frontier found = frontier(clocked, slowdowns);
  std::vector<double> out;
  for (const StragglerPlan& plan : found.plans) {
    if (plan.slowdown > 1) out.push_back(100 * plan.saving(plan.executed, found.blocked_w));
  }
  REQUIRE(out.size() == slowdowns.size());
  return out;
}

// The saving in percent of the energy at the highest clocks, for iterations that take so many percent longer.
double saving_of(const std::filesystem::path& scenario, double slowdown) {
  const ClockedProgram clocked = program_of_scenario(scenario);
  const double highest_j = execute_clocks(clocked, highest_clocks(clocked)).energy_j;
  const Frontier curve = frontier(clocked);
  const auto energy_j = curve.min_energy_j(curve.t_min_s * (1 + slowdown / 100));
  REQUIRE(energy_j.has_value());
  return 100 * (1 - *energy_j / highest_j);
}

}  // namespace

TEST_CASE("savings that Perseus published, from scenarios") {
  const CsvTable table = CsvTable::from_file(kFolder / "published-savings.csv");
  REQUIRE(table.rows() == 10);
  int near = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& scenario = table.text(row, table.require("scenario"));
    const double saved = saving_of(kFolder / scenario, table.number(row, table.require("slowdown_percent"), 0, 100));
    const double published = table.number(row, table.require("saving_percent"), 0, 100);
    INFO(scenario << ": " << saved << " of " << published << " %");
    CHECK(std::abs(saved - published) <= table.number(row, table.require("within_points"), 0, 100));
    near += std::abs(saved - published) <= 3 ? 1 : 0;
  }
  CHECK(near >= 7);
}

// One of 16 pipelines is slow and, it is assumed, saves nothing.
TEST_CASE("savings beside a straggler that Perseus published, from scenarios and from measured profiles") {
  const CsvTable table = CsvTable::from_file(kFolder / "published-straggler.csv");
  REQUIRE(table.rows() == 4);
  constexpr double kWaiting = 15.0 / 16;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& scenario = table.text(row, table.require("scenario"));
    const std::string& profile = table.text(row, table.require("profile"));
    CAPTURE(scenario);
    CAPTURE(profile);
    if (!profile.empty() && !std::filesystem::exists(kProfiles / profile)) {
      MESSAGE("skipped: no measured profiles beside the source tree");
      continue;
    }
    const auto number = [&](const char* column) { return table.number(row, table.require(column), 0, 1e4); };
    const ClockedProgram clocked =
        profile.empty()
            ? program_of_scenario(kFolder / scenario)
            : program_of_profile(kProfiles / profile, static_cast<int>(number("microbatches")), number("blocked_w"));
    const double saved = kWaiting * savings_beside_straggler(clocked, {number("slowdown")}).front();
    INFO(saved << " of " << number("saving_percent") << " %");
    CHECK(std::abs(saved - number("saving_percent")) <= number("within_points"));
  }
}

// Savings grow until the slowest useful clocks end in time beside the straggler; from there on all only wait longer.
TEST_CASE("the slower the straggler, the more is saved, until nothing is left to slow down") {
  const std::vector<double> saved =
      savings_beside_straggler(program_of_scenario(kFolder / "gpt3-175b-a100.yaml"), {1.05, 1.1, 1.2, 1.3, 1.5});
  CHECK(saved[0] > 10);
  CHECK(saved[1] > saved[0]);
  CHECK(saved[2] > saved[1]);
  CHECK(saved[3] > saved[2]);
  CHECK(saved[4] > saved[2]);
  CHECK(saved[4] < saved[3]);
}

}  // namespace perseus_savings_test
