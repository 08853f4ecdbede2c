#pragma once

#include "cluster/cluster.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace mirfak {

// Returns the cluster of --nodes TYPE:COUNT on the default network; nullopt for an empty text. `profiles`:
// hw_profiles/. Error(input) for any other text, and for a type that does not exist.
std::optional<Cluster> cluster_of_nodes(const std::string& text, const std::filesystem::path& profiles);

// Returns the `cluster` section of a scenario on the nodes of several --nodes TYPE:COUNT, as YAML. Error(input) for any
// other text.
std::string cluster_section(std::span<const std::string> nodes);

// Returns the scenario of a capture on these nodes, as YAML. Error(input) for no nodes, and as above.
std::string capture_scenario(const std::string& capture, std::span<const std::string> nodes);

}  // namespace mirfak
