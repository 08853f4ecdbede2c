#pragma once

#include "graph/operator_graph.hpp"

namespace mirfak {

// True if with_backward() adds gradient operators to a block.
bool has_gradients(const OperatorGraph& graph);
// Number of gradients of a product that nobody computes. By convention the backward pass of a product costs twice its
// forward pass: one product of the same size for the gradient of each operand. Nobody computes gradients of frozen
// parameters and of data, nor both gradients in a block without gradients. `differentiated`: has_gradients(graph).
int missing_gradients(const OperatorGraph& graph, const Operator& op, bool differentiated);

}  // namespace mirfak
