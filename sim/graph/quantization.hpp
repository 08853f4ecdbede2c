#pragma once

#include "graph/operator_graph.hpp"

namespace mirfak {

// How products with parameters run in a narrow format: what their operands look like, and which kernels make them.
struct Quantization {
  double element_bytes = 1;          // of a quantized operand, its share of the scales included
  double parameter_bytes = 1;        // ... of a parameter
  bool finds_largest = false;        // a kernel reads the tensor for its largest value before the one that quantizes it
  bool fused_normalization = false;  // a normalization writes its result quantized, if nothing else reads it
  // Products along tokens (weight gradients) and with transposed weights read copies of their own: transposed because
  // the tensor cores multiply narrow formats in one layout only, or scaled along the other dimension.
  bool second_copies = false;
  bool transposable = false;       // the second copy can be made from the first, by a transposing kernel
  bool two_kernels = false;        // activations and gradients: each copy by a kernel of its own
  bool gathers_tokens = false;     // sequence parallelism: operands are gathered over tokens once quantized
  bool narrow_parameters = false;  // parameters are kept in the narrow format only: nothing quantizes them
  bool caches_parameters = true;   // parameters are quantized once an iteration, else in every forward pass
};

// Rewrites a graph that has its gradient operators: of every linear layer (Operator::linear) the forward product and
// both gradient products read quantized operands, and the kernels that make these are operators of the graph.
// Activations are quantized in forward passes, gradients in backward ones, parameters once an iteration
// (Phase::update). What weight gradients keep of the forward pass is thus the narrow copy. Ids of operators change, ids
// of tensors do not.
OperatorGraph with_quantized_products(OperatorGraph graph, const Quantization& quantization);

}  // namespace mirfak
