#pragma once

#include "graph/operator_graph.hpp"

namespace mirfak {

// Frozen weights that are kept in a narrower format than products read.
struct NarrowWeights {
  double bytes = 0;  // per element, with its share of the format's constants
  int kernels = 1;   // that widen a weight
};

// Rewrites a graph that has its gradient operators: the frozen parameters of linear layers (Operator::linear) are kept
// in the narrow format, and in front of every product that reads such a parameter, forward and backward, a kernel
// widens the parameter. The wide copy exists until its product ends. Ids of operators change, ids of tensors do not.
OperatorGraph with_narrow_weights(OperatorGraph graph, const NarrowWeights& weights);

}  // namespace mirfak
