#pragma once

#include "base/document.hpp"
#include "cluster/cluster.hpp"
#include "strategy/strategy.hpp"

namespace mirfak {

// What the `strategy` section states beside `stages`.
struct StatedBeside {
  bool data = false;
  bool expert_tensor = false;
};

// Reads strategy.stages into a strategy of which all other keys have been read: shapes, layers, the number of stages,
// and the sizes of the first of the stages with most replicas. Sizes that a stage leaves out are those of the strategy;
// of replicas, what is left of its GPUs. `cluster`: null where only its size is known; then stages cannot take nodes.
void read_stages(const Node& node, const StatedBeside& beside, const Cluster* cluster, Strategy& strategy);

}  // namespace mirfak
