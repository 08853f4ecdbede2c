#include "energy/baselines.hpp"

#include "profiles.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace mirfak;
using namespace mirfak::test;

namespace {

std::map<std::string, ExecutedClocks> by_name(const ClockedProgram& clocked, double slowdown) {
  const Picoseconds highest = execute_clocks(clocked, highest_clocks(clocked)).makespan;
  std::map<std::string, ExecutedClocks> out;
  for (Baseline& baseline : baselines(clocked, static_cast<Picoseconds>(static_cast<double>(highest) * slowdown))) {
    out.emplace(baseline.name, std::move(baseline.executed));
  }
  return out;
}

std::map<int, double> clock_by_stage(const ClockedProgram& clocked, const ExecutedClocks& executed) {
  std::map<int, double> out;
  for (TaskId task = 0; task < clocked.program.size(); ++task) {
    out[clocked.program.class_of(task).stage] = executed.clocks[task].clock_hz;
  }
  return out;
}

}  // namespace

TEST_CASE("the ends: every pass at the highest, at the lowest clock") {
  const ClockedProgram clocked = pipeline(simple_profile({0.01, 0.01}), 4);
  auto found = by_name(clocked, 1);
  CHECK(to_seconds(found.at("highest clock").makespan) == doctest::Approx(5 * 0.03));
  CHECK(to_seconds(found.at("lowest clock").makespan) == doctest::Approx(2 * 5 * 0.03));
}

TEST_CASE("one clock follows the straggler") {
  const ClockedProgram clocked = pipeline(simple_profile({0.01, 0.01}), 4);
  CHECK(clock_by_stage(clocked, by_name(clocked, 1).at("one clock")) == std::map<int, double>{{0, 3e6}, {1, 3e6}});
  CHECK(clock_by_stage(clocked, by_name(clocked, 1.6).at("one clock")) == std::map<int, double>{{0, 2e6}, {1, 2e6}});
}

TEST_CASE("stages are balanced to the slowest: a stage with two thirds of the work runs at two thirds of the clock") {
  const ClockedProgram clocked = pipeline(simple_profile({0.015, 0.01}), 4);
  const ExecutedClocks executed = by_name(clocked, 1).at("balanced stages");
  CHECK(clock_by_stage(clocked, executed) == std::map<int, double>{{0, 3e6}, {1, 2e6}});
}

TEST_CASE("a clock per stage keeps the deadline and needs no more than one clock for all") {
  const ClockedProgram clocked = pipeline(simple_profile({0.015, 0.01, 0.012}), 8);
  for (const double slowdown : {1.0, 1.2, 1.5, 2.0}) {
    auto found = by_name(clocked, slowdown);
    CHECK(to_seconds(found.at("a clock per stage").makespan) <=
          slowdown * to_seconds(found.at("highest clock").makespan) + 1e-12);
    CHECK(found.at("a clock per stage").energy_j <= found.at("highest clock").energy_j);
  }
}
