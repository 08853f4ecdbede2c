#pragma once

#include "scenario/scenario.hpp"

#include <optional>
#include <random>
#include <string>
#include <vector>

namespace mirfak::test {

// All GPUs that have a node type, each with the first of them by name.
struct GpuOnNode {
  std::string gpu;
  std::string node;
};
const std::vector<GpuOnNode>& all_gpus();

// Keys of a scenario that a test chooses itself; all others are drawn.
struct Chosen {
  std::string nodes;      // as under cluster.nodes: "[{type: hgx-h100, count: 2}]"
  std::string precision;  // a choice of training.precision
};

// The text of a scenario with a drawn model, batch, strategy and framework: the same for the same state of `random` on
// every machine. Not every draw can run.
std::string random_scenario(const Chosen& chosen, std::mt19937& random);
// Reads a scenario; nothing if a rule or the hardware forbids it.
std::optional<Scenario> scenario_of(const std::string& text);

}  // namespace mirfak::test
