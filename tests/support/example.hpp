#pragma once

#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <string>
#include <vector>

namespace mirfak {

// GPT-3 2.7B on two nodes of eight GPUs, tp 2, pp 4, two chunks a stage, dp 2, 8 microbatches, `overrides` applied.
struct Example {
  Scenario scenario;
  Simulation simulation;
};
Example example(const std::vector<std::string>& overrides = {}, const LoweringOptions& options = {});

}  // namespace mirfak
