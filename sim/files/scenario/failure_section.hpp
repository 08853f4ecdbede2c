#pragma once

#include "base/document.hpp"
#include "cluster/cluster.hpp"
#include "training/failures.hpp"

#include <filesystem>

namespace mirfak {

inline constexpr double kLongestOperation = 1e10;  // longest repair, pause or interval in seconds

// Reads `operations.failures` for a cluster. `repair_s`: repair time of nodes that fail; `hardware`: the folder that
// holds failures/. Error(input) at the place of the fault, also inside a log.
Failures read_failures(const Node& section, const Cluster& cluster, double repair_s,
                       const std::filesystem::path& hardware);

// Returns the section with absolute paths of its files, so that it means the same in any file.
Value independent_failures(const Node& section);

}  // namespace mirfak
