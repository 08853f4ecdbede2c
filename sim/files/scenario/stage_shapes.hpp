#pragma once

#include "base/document.hpp"
#include "cluster/cluster.hpp"
#include "strategy/strategy.hpp"

namespace mirfak {

// Keys that the `strategy` section states in addition to `stages`.
struct StatedBeside {
  bool data = false;
  bool expert_tensor = false;
};

// Reads strategy.stages into a strategy whose other keys have all been read: shapes, layers, the number of stages, and
// the sizes of the first of the stages with most replicas. Sizes that a stage leaves out are those of the strategy; its
// number of replicas follows from its GPUs. `cluster`: null if only its size is known; then stages cannot state
// `nodes`.
void read_stages(const Node& node, const StatedBeside& beside, const Cluster* cluster, Strategy& strategy);

}  // namespace mirfak
