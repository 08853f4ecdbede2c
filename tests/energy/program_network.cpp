#include "energy/program_network.hpp"

#include "energy/clock_plan.hpp"
#include "energy/project_cost.hpp"
#include "energy/scenario_clocks.hpp"
#include "engine/execute.hpp"
#include "profiles.hpp"
#include "scenario/scenario.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace mirfak;
using namespace mirfak::test;

namespace {

// The same program with the choices of a kind cut down to one.
ClockedProgram fixed_at(ClockedProgram clocked, std::mt19937& random) {
  for (PassChoices& choices : clocked.choices) {
    const auto pick = std::uniform_int_distribution<std::size_t>(0, choices.useful.size() - 1)(random);
    const ClockChoice one = choices.useful[pick];
    choices = pass_choices(std::vector<ClockChoice>{one});
  }
  return clocked;
}

// Without choices the project's makespan is the engine's, whatever the clocks.
void check_longest_paths(const ClockedProgram& clocked, int times) {
  std::mt19937 random(1);
  for (int i = 0; i < times; ++i) {
    const ClockedProgram fixed = fixed_at(clocked, random);
    ClockAssignment clocks(fixed.program.size());
    for (TaskId task = 0; task < clocks.size(); ++task) {
      if (fixed.is_clocked(task)) clocks[task] = fixed.choices_for(task).useful.front();
    }
    const ProgramNetwork network = network_of(fixed);
    CHECK(ProjectCost(network.network).makespan() == execute(with_clocks(fixed, clocks)).makespan);
  }
}

ClockedProgram scenario(const std::string& name) {
  const std::filesystem::path source = source_root();
  return clocked_program(
      load_scenario(source / "scenarios" / name, {}, {source / "models", source / "hw_profiles"}).job);
}

}  // namespace

TEST_CASE("the longest paths of a pipeline are kept") {
  const StageProfile uneven = simple_profile({0.01, 0.013, 0.008, 0.011});
  check_longest_paths(pipeline(uneven, 8), 20);
  check_longest_paths(pipeline(uneven, 8, schedule_named("gpipe")), 20);
  check_longest_paths(pipeline(uneven, 8, schedule_named("interleaved-1f1b"), 2), 20);
}

TEST_CASE("the longest paths of lowered programs are kept, and their other tasks are gone") {
  for (const char* name : {"gpt3-13b-gpipe-a100.yaml", "llama2-70b-h100-a100.yaml"}) {
    const ClockedProgram clocked = scenario(name);
    const ProgramNetwork network = network_of(clocked);
    CHECK(network.network.events < 2.5 * static_cast<double>(network.activities.size()));
    check_longest_paths(clocked, 5);
  }
}

TEST_CASE("one pass after the other: each is an activity between two events") {
  const ProgramNetwork network = network_of(pipeline(simple_profile({0.01}), 2));
  CHECK(network.activities.size() == 4);
  CHECK(network.network.events == 5);
  CHECK(network.network.arcs.size() == 4);
}
