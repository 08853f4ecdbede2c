#pragma once

#include "validation/measured_run.hpp"

#include <string>

namespace mirfak {

// The `cluster` section of the scenario of a run, as YAML: node type by GPU and node size, network by the words of the
// interconnect where they say it. Error(infeasible) at the row where no node type is known for the GPU, or its GPUs
// do not make whole nodes and one part of a node.
std::string cluster_yaml_of(const MeasuredRun& run);

}  // namespace mirfak
