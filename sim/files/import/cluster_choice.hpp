#pragma once

#include "import/cluster_facts.hpp"
#include "import/cluster_knowledge.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// Nodes of one type, chosen by the files on the cluster.
struct ClusterChoice {
  std::string type;  // "": not known, and `reason` names the obstacle
  std::int64_t count = 0;
  std::optional<std::int64_t> available = {};  // nodes that can be used; absent: not stated
  std::int64_t gpus = 0;                       // GPUs per node
  Location where;                              // place of the text that decides the type
  std::string reason;  // "sinfo.txt:2:20: gpu:h100:8: 14 nodes that can be used, 4 asked for"; else an obstacle
};

// Chooses the nodes of a launch that asks for `asked`: as many nodes as the launch states, else all nodes that can be
// used. The nodes are of the type that fits in GPUs, features and wiring.
ClusterChoice choose_nodes(const ClusterFacts& facts, const ImportedNodes& asked, const Catalog& catalog,
                           const ClusterKnowledge& knowledge);

// Returns one sentence for each difference between the matrix and the type of node: in the number of GPUs, and in the
// links between the GPUs.
std::vector<ImportObstacle> wiring_differences(const GpuMatrix& matrix, const NodeSpec& node,
                                               const ClusterKnowledge& knowledge);

// Returns an obstacle if the matrix shows fewer network ports than the type has. More ports may belong to other
// networks; a matrix without ports states nothing.
std::optional<ImportObstacle> port_difference(const GpuMatrix& matrix, const NodeSpec& node);

// Returns the listed nodes that are not counted, with the reasons.
std::vector<ImportObstacle> nodes_left_out(const ClusterFacts& facts);

}  // namespace mirfak
