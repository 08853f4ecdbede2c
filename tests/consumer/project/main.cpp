// Predicts the scenario on the command line: reads it, simulates it, keeps the simulation as a value among others.

#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <cstdio>
#include <filesystem>
#include <vector>

int main(int count, char** words) {
  if (count != 2) return 2;
  const std::filesystem::path data = DATA;
  const mirfak::Scenario scenario = mirfak::load_scenario(words[1], {}, {data / "models", data / "hw_profiles"});
  std::vector<mirfak::Simulation> simulations;
  simulations.push_back(mirfak::simulate(scenario.job));
  std::printf("%.17g\n", simulations.front().result.iteration_time_s);
}
