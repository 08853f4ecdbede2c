#pragma once

#include "graph/operator_graph.hpp"

namespace mirfak::block {

// Floating-point operations of an operator on one device that holds all of it, as counted by convention: 2 for each
// multiplication of a product and of attention over all pairs of tokens (causal or not), those of a scan's products,
// what a custom operator states; nothing for what is bound by memory.
double flop(const OperatorGraph& graph, const Operator& op);
// Of the forward operators.
double forward_flop(const OperatorGraph& graph);
// FLOPs of forward and backward by convention: three times forward, less the gradients of frozen parameters and of
// data, which nobody computes.
double model_flop(const OperatorGraph& graph);

// Parameters that the block itself holds: those tied to another block's are counted there.
double parameters(const OperatorGraph& graph);
// ... of these the ones that a token meets: of experts only those that it visits.
double active_parameters(const OperatorGraph& graph);

}  // namespace mirfak::block
