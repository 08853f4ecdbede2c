#pragma once

#include "sharding/partition.hpp"

#include <vector>

namespace mirfak {

// The steps once per iteration that follow from a plan's annotations of gradients. The optimizer updates the elements
// that a device holds in the gradient's own sharding. If that sharding divides the parameter further, the sum of
// gradients over a mesh axis is a reduce-scatter instead of an all-reduce, and the new parameter is gathered (GSPMD,
// arXiv 2105.04663, section 3.2; the weight update of arXiv 2004.13336; ZeRO, arXiv 1910.02054).
struct WeightUpdate {
  std::vector<BlockStep> reductions;  // reductions of gradients, after the last backward pass
  std::vector<BlockStep> gathers;     // gathers of parameters, after the optimizer's step
  double state_elements = 0;          // elements that one device's optimizer updates
  double gradient_bytes = 0;          // bytes on one device, as backward passes leave gradients
};
WeightUpdate weight_update(const PartitionedBlock& block, const DeviceMesh& mesh);

}  // namespace mirfak
