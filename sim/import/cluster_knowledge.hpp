#pragma once

#include "cluster/catalog.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// What schedulers and clouds call GPUs and machines: hw_profiles/launch/clusters.yaml.
struct ClusterKnowledge {
  std::map<std::string, std::vector<std::string>> gpus;         // names of GPU profiles
  std::map<std::string, std::vector<std::string>> rented_gpus;  // where a cloud means another one
  std::map<std::string, std::string> clouds;                    // the beginning of the names of its types of node
  std::vector<std::string> instance_prefixes;
  std::map<std::string, std::int64_t> nvlinks;  // of a GPU, by link
};
ClusterKnowledge read_cluster_knowledge(const std::filesystem::path& hardware);

// Nodes that somebody asks for, or has.
struct NodeWish {
  std::string gpu;                         // "h100", "nvidia_a100-sxm4-80gb"; "": not said
  std::optional<std::int64_t> gpus;        // of a node
  std::vector<std::string> features = {};  // of which one may be the name of a type of node or of its GPU
  std::optional<std::string> cloud = {};   // "aws"; absent: a cluster of one's own
  std::string instance = {};               // "p5.48xlarge"
};

// The types of node that it may be, sorted; of a GPU's exact name only these. Empty: none is known, or nothing is said
// that decides.
std::vector<std::string> fitting_types(const Catalog& catalog, const ClusterKnowledge& knowledge, const NodeWish& wish);

}  // namespace mirfak
