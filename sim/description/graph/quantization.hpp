#pragma once

#include "graph/operator_graph.hpp"

namespace mirfak {

// Products with parameters in a narrow format: the format of their operands, and the kernels that make these operands.
struct Quantization {
  double element_bytes = 1;    // bytes per element of a quantized operand, including its share of the scales
  double parameter_bytes = 1;  // bytes per element of a quantized parameter
  bool finds_largest = false;  // a kernel finds the tensor's largest value before another kernel quantizes the tensor
  bool fused_normalization = false;  // a normalization writes its result quantized, if nothing else reads it
  // Products along tokens (weight gradients) and products with transposed weights read copies of their own. These
  // copies are transposed because the tensor cores multiply narrow formats in one layout only, or scaled along the
  // other dimension.
  bool second_copies = false;
  bool transposable = false;           // the second copy can be made from the first, by a transposing kernel
  bool two_kernels = false;            // activations and gradients: a kernel of its own writes each copy
  bool wide_weight_gradients = false;  // products for weight gradients read operands in the precision of activations
  bool gathers_tokens = false;         // sequence parallelism: operands are gathered over tokens once quantized
  bool narrow_parameters = false;      // parameters are kept only in the narrow format: nothing quantizes them
  bool caches_parameters = true;       // parameters are quantized once an iteration, else in every forward pass
};

// Rewrites a graph that has its gradient operators. For every linear layer (Operator::linear) the forward product and
// both gradient products read quantized operands, and the kernels that make these operands become operators of the
// graph. Activations are quantized in forward passes, gradients in backward passes, parameters once an iteration
// (Phase::update). Therefore weight gradients keep the narrow copy of the forward pass. Ids of operators change, ids of
// tensors do not.
OperatorGraph with_quantized_products(OperatorGraph graph, const Quantization& quantization);

}  // namespace mirfak
