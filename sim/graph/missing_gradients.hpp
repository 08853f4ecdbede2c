#pragma once

#include "graph/operator_graph.hpp"

namespace mirfak {

// True if with_backward() makes gradients of anything in a block.
bool has_gradients(const OperatorGraph& graph);
// By convention a product costs its backward pass twice its forward pass: a product as large for the gradient of each
// operand. Of these two, those that nobody computes: of frozen parameters and of data; both in a block without
// gradients. `differentiated`: has_gradients(graph).
int missing_gradients(const OperatorGraph& graph, const Operator& op, bool differentiated);

}  // namespace mirfak
