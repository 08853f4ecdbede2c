// Measured runs that others published, against the scenarios that describe them. The tolerance is what the models
// are good for today; calibration narrows it.

#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace mirfak;

namespace {

IterationResult simulated(const std::string& scenario) {
  const std::string source = source_root();
  const Scenario read =
      load_scenario(source + "/scenarios/" + scenario, {}, {source + "/models", source + "/hw_profiles"});
  return simulate(read.job).result;
}

double error(double predicted, double measured) { return predicted / measured - 1; }

}  // namespace

TEST_CASE("Megatron-LM SC'21, table 2: GPT-3 175B, PTD-P on 384, 768 and 1,536 A100, within 15 %") {
  const struct {
    const char* scenario;
    double hardware_tflops;  // per GPU, recomputation counted
  } runs[] = {{"gpt3-175b-a100-384.yaml", 153}, {"gpt3-175b-a100-768.yaml", 149}, {"gpt3-175b-a100.yaml", 141}};
  double last = 1e9;
  for (const auto& run : runs) {
    INFO(run.scenario);
    const IterationResult result = simulated(run.scenario);
    CHECK(std::abs(error(result.hardware_tflops_per_gpu, run.hardware_tflops)) < 0.15);
    CHECK(result.fits);
    // The same batch on more GPUs: fewer microbatches, a larger bubble, fewer FLOP/s of each.
    CHECK(result.hardware_tflops_per_gpu < last);
    last = result.hardware_tflops_per_gpu;
  }
}

TEST_CASE("arXiv 2205.05198, table 5: sequence parallelism and selective recomputation, within 15 %") {
  CHECK(std::abs(error(simulated("gpt-22b-a100-seqpar.yaml").iteration_time_s, 1.10)) < 0.15);
  CHECK(std::abs(error(simulated("gpt-1t-a100.yaml").iteration_time_s, 71.49)) < 0.15);
}
