#pragma once

#include "base/document.hpp"
#include "cluster/cluster.hpp"
#include "training/failures.hpp"

#include <filesystem>

namespace mirfak {

inline constexpr double kLongestOperation = 1e10;  // seconds: of a repair, a pause, an interval

// Reads `operations.failures`, of a cluster. `repair_s`: of nodes that fail; `hardware`: the folder that holds
// failures/. Error(input) at the place of the fault, in a log too.
Failures read_failures(const Node& section, const Cluster& cluster, double repair_s,
                       const std::filesystem::path& hardware);

// The section with the paths of its files absolute, so that it means the same in any file.
Value independent_failures(const Node& section);

}  // namespace mirfak
