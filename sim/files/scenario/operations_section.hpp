#pragma once

#include "base/document.hpp"
#include "cluster/cluster.hpp"
#include "scenario/scenario_sources.hpp"
#include "training/operations.hpp"

namespace mirfak {

// Reads the section `operations` of a scenario (README.md has its keys). Error(input) at the place of the fault.
Operations read_operations(const Node& section, const Cluster& cluster, const ScenarioSources& sources);

// Returns the section, which was read before, with absolute paths of its files, so that it means the same in any file.
Value independent_operations(const Node& section);

}  // namespace mirfak
