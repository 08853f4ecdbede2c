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

// Names that schedulers and clouds give to GPUs and machines: hw_profiles/launch/clusters.yaml.
struct ClusterKnowledge {
  std::map<std::string, std::vector<std::string>> gpus;         // names of GPU profiles, by a scheduler's name
  std::map<std::string, std::vector<std::string>> rented_gpus;  // names for which a cloud means another GPU
  std::map<std::string, std::string> clouds;                    // prefix of the cloud's types of node, by cloud
  std::vector<std::string> instance_prefixes;
  std::map<std::string, std::int64_t> nvlinks;  // NVLinks of a GPU, by link
};
ClusterKnowledge read_cluster_knowledge(const std::filesystem::path& hardware);

// Nodes that a launch asks for, or that a cluster has.
struct NodeWish {
  std::string gpu;                         // "h100", "nvidia_a100-sxm4-80gb"; "": not stated
  std::optional<std::int64_t> gpus;        // GPUs per node
  std::vector<std::string> features = {};  // any feature may be the name of a type of node or of its GPU
  std::optional<std::string> cloud = {};   // "aws"; absent: a cluster of one's own
  std::string instance = {};               // "p5.48xlarge"
};

// Returns the types of node that fit `wish`, sorted. If a GPU has exactly the wished name, only types with that GPU are
// returned. Empty: no fitting type is known, or the wish states nothing that decides.
std::vector<std::string> fitting_types(const Catalog& catalog, const ClusterKnowledge& knowledge, const NodeWish& wish);

}  // namespace mirfak
