#pragma once

#include "import/cluster_facts.hpp"
#include "import/cluster_knowledge.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// Nodes of one type, by what files say of the cluster.
struct ClusterChoice {
  std::string type;  // "": not known, and `reason` says why
  std::int64_t count = 0;
  std::optional<std::int64_t> available = {};  // nodes that can be used; absent: nobody says
  std::int64_t gpus = 0;                       // of a node
  Location where;                              // of what decides the type
  std::string reason;  // "sinfo.txt:2:20: gpu:h100:8: 14 nodes that can be used, 4 asked for"; else an obstacle
};

// The nodes of a launch that asks for `asked`: as many as it says, else all that can be used, of the type whose GPUs,
// features and wiring fit.
ClusterChoice choose_nodes(const ClusterFacts& facts, const ImportedNodes& asked, const Catalog& catalog,
                           const ClusterKnowledge& knowledge);

// Where the number of GPUs or the links between them are not those of a type of node: for each difference a sentence.
std::vector<ImportObstacle> wiring_differences(const GpuMatrix& matrix, const NodeSpec& node,
                                               const ClusterKnowledge& knowledge);

// Fewer ports than the type has. More may be of other networks; a file that shows none does not say.
std::optional<ImportObstacle> port_difference(const GpuMatrix& matrix, const NodeSpec& node);

// Nodes that are not counted, with the reasons.
std::vector<ImportObstacle> nodes_left_out(const ClusterFacts& facts);

}  // namespace mirfak
