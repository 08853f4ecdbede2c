#pragma once

#include "base/document.hpp"
#include "cluster/cluster.hpp"
#include "model/model_spec.hpp"
#include "strategy/strategy.hpp"

namespace mirfak {

// Keys that the `strategy` section states in addition to `stages`, and what the stages are read for.
struct StagesFor {
  bool data = false;
  bool expert_tensor = false;
  const Cluster* cluster = nullptr;  // null if only its size is known; then stages cannot state `nodes`
  const ModelSpec* model = nullptr;  // null if it is not known; then no stage can be its tower
};

// Reads strategy.stages into a strategy whose other keys have all been read: shapes, layers, the number of stages, and
// the sizes of the first of the stages with most replicas. Sizes that a stage leaves out are those of the strategy; its
// number of replicas follows from its GPUs. A stage that is the tower has the tower's layers. If no other stage then
// states layers, the others divide the decoder's layers evenly, and the first of them has the layer that puts images
// among words besides.
void read_stages(const Node& node, const StagesFor& reading, Strategy& strategy);

}  // namespace mirfak
