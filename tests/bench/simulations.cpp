// A thousand simulations one after the other, as a C++ program writes them: each reads its scenario, with another
// batch, and simulates it; hardware is read once. What tests/python/bench_simulations.py compares Python's loop with.
//   mirfak_bench_simulations [--smoke | COUNT SCENARIO]     prints the scenario's name and milliseconds of processor
//   time a simulation

#include "processor_time.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "support/source_root.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

// The sum of the iterations' times, so that nothing is left out.
double simulate_all(const std::string& scenario, int count, const ScenarioSources& sources) {
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    const std::vector<std::string> overrides = {fmt::format("training.global_batch={}", 1536 * (1 + i % 4))};
    sum += simulate(load_scenario(scenario, overrides, sources).job).result.iteration_time_s;
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const bool given = argc > 2;
  const int count = given ? std::atoi(argv[1]) : 3;
  const std::string scenario = given ? argv[2] : source_root() + "/scenarios/gpt3-175b-a100.yaml";
  const ScenarioSources sources(data_folders(source_root()));
  simulate_all(scenario, 1, sources);  // reads the hardware
  const double begin = processor_s();
  const double sum = simulate_all(scenario, count, sources);
  const double milliseconds = (processor_s() - begin) * 1000 / count;
  fmt::print("{} {:.6f} {:.9g}\n", scenario.substr(scenario.rfind('/') + 1), milliseconds, sum);
  return 0;
}
