// Laws that hold for every scenario, over draws of all models, nodes, frameworks and schedules.
#include "support/drawn_scenario.hpp"

#include "random_scenarios.hpp"

#include "base/error.hpp"
#include "simulation/iteration.hpp"
#include "simulation/laws.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>

using namespace mirfak;
using namespace mirfak::test;

TEST_CASE("physics allows the figures of every drawn scenario, and its own YAML says the same again") {
  int ran = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    RandomChoices choices(seed);
    const std::string text = drawn_scenario(choices);
    CAPTURE(text);
    const std::optional<Scenario> scenario = scenario_of(text);
    if (!scenario) continue;
    CHECK(scenario_of(scenario->resolved)->resolved == scenario->resolved);
    try {
      const Simulation found = simulate(scenario->job);
      ++ran;
      CHECK(std::isfinite(found.result.iteration_time_s));
      CHECK(std::isfinite(found.result.energy_j));
      const std::vector<std::string> broken = broken_laws(found.job, found.result);
      CHECK_MESSAGE(broken.empty(), (broken.empty() ? "" : broken.front()));
    } catch (const Error& error) {
      CHECK(error.kind() != ErrorKind::internal);
    }
  }
  CHECK(ran > 60);  // of those drawn a fifth can run
}
