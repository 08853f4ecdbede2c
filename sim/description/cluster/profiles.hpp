#pragma once

#include "cluster/profile_file.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// Readers of one profile each, without looking at other files: names in a profile stay names. Error(input) at the place
// of a fault, impossible combinations of figures included.

// Reads a GPU profile. `gemm_like` returns the GPU whose fits a file without a measured table takes over.
GpuSpec read_gpu_profile(ProfileFile& file, const std::function<GpuSpec(const Node& name)>& gemm_like);
// Reads the `attention` section of a GPU profile, by generation of kernels.
std::map<std::string, AttentionFit> read_attention_fits(ProfileFile& file, const Node& section,
                                                        const std::map<Precision, Figure>& peaks);
LinkSpec read_link_profile(ProfileFile& file);
std::vector<PriceSpec> read_price_profile(ProfileFile& file);

// Returns the price that a scenario states as a number: USD for an hour of one GPU. nullopt: the scenario names a price
// of a list.
std::optional<PriceSpec> stated_price(const Node& node, const std::string& gpu);

// One kind of a node's GPUs: names in its profile, each with the place where it is written.
struct NodeKind {
  Node gpu;
  int gpus = 0;
  Node scale_up;
  Node host_link;
};

struct NodeProfile {
  NodeSpec spec;                // without what differs between kinds
  std::vector<NodeKind> kinds;  // not empty
  Node network;
};
NodeProfile read_node_profile(ProfileFile& file);  // valid as long as `file` lives
// Reads `host_factor` into `node`. Returns true if the profile states it.
bool read_host_factor(ProfileFile& file, NodeSpec& node);
// Reads the `correction` section of a profile that is `like` another node type.
Correction read_correction(ProfileFile& file);

std::string link_ends_text(const LinkSpec& link);  // counterparts that the link joins a GPU to: "gpus, host"

}  // namespace mirfak
