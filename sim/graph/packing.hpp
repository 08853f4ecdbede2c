#pragma once

#include "graph/operator_graph.hpp"

#include <string>

namespace mirfak {

// Products whose weights have the tag, that read the same operand and have the same columns for ranks to divide, become
// one product with one weight; so do their biases, where each has one. A view parts the result. What this leaves
// without use stays in the graph's tensors.
void pack_products(OperatorGraph& graph, const std::string& tag);

}  // namespace mirfak
