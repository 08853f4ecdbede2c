#pragma once

#include "graph/operator_graph.hpp"

#include <string>

namespace mirfak {

// Packs products whose weights have the tag, that read the same operand and have the same columns for ranks to divide,
// into one product with one weight. Their biases are packed too, if each product has a bias. A view splits the result.
// Tensors that become unused stay in the graph.
void pack_products(OperatorGraph& graph, const std::string& tag);

}  // namespace mirfak
