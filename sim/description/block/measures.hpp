#pragma once

#include "graph/operator_graph.hpp"

namespace mirfak::block {

// Floating-point operations of an operator on one device that holds all of it, counted by convention: 2 for each
// multiplication of a product, and of attention over all pairs of tokens (causal or not), the products of a scan, the
// stated number of a custom operator; 0 for operators bound by memory.
double flop(const OperatorGraph& graph, const Operator& op);
// Floating-point operations of the forward operators.
double forward_flop(const OperatorGraph& graph);
// Floating-point operations of forward and backward by convention: three times forward, minus the gradients of frozen
// parameters and of data, which nobody computes.
double model_flop(const OperatorGraph& graph);

// Number of parameters that the block itself holds; parameters tied to those of another block are counted there.
double parameters(const OperatorGraph& graph);
// Number of these parameters that a token meets: among experts only those that the token visits.
double active_parameters(const OperatorGraph& graph);

}  // namespace mirfak::block
