#pragma once

#include "sharding/partition.hpp"

#include <vector>

namespace mirfak {

// What a plan's annotations of gradients mean once an iteration. The optimizer steps on the elements that a device has
// of the gradient's own sharding: where that divides the parameter further, the sum of gradients over a mesh axis is a
// reduce-scatter instead of an all-reduce, and the new parameter is gathered (GSPMD, arXiv 2105.04663, section 3.2; the
// weight update of arXiv 2004.13336; ZeRO, arXiv 1910.02054).
struct WeightUpdate {
  std::vector<BlockStep> reductions;  // of gradients, behind the last backward pass
  std::vector<BlockStep> gathers;     // of parameters, behind the optimizer's step
  double state_elements = 0;          // that one device's optimizer steps on
  double gradient_bytes = 0;          // on one device, as backward passes leave gradients
};
WeightUpdate weight_update(const PartitionedBlock& block, const DeviceMesh& mesh);

}  // namespace mirfak
