#pragma once

#include "interpreter/undivided.hpp"

#include <string>

namespace mirfak::interpreter {

// Checks the gradients of all trained parameters and all streams that enter a graph with gradient operators: along a
// direction, the difference quotient of what the forward operators compute is the product of direction and gradient.
// `label` is for messages.
void check_derivatives(const std::string& label, const OperatorGraph& graph, const Meaning& meaning);

}  // namespace mirfak::interpreter
