#pragma once

#include "cluster/cluster.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace mirfak {

// The cluster that --nodes TYPE:COUNT says, on the default network; nullopt: an empty text. `profiles`: hw_profiles/.
// Error(input) for anything else, and for a type that is not there.
std::optional<Cluster> cluster_of_nodes(const std::string& text, const std::filesystem::path& profiles);

}  // namespace mirfak
