#pragma once

#include "base/document.hpp"
#include "cluster/cluster.hpp"
#include "scenario/scenario_sources.hpp"
#include "training/operations.hpp"

namespace mirfak {

// Reads the section `operations` of a scenario (README.md has its keys). Error(input) at the place of the fault.
Operations read_operations(const Node& section, const Cluster& cluster, const ScenarioSources& sources);

}  // namespace mirfak
