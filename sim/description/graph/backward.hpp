#pragma once

#include "graph/operator_graph.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace mirfak {

// Kernels of the gradients of a normalization.
enum class NormKernels {
  separate,  // NVIDIA/apex: one pass over rows; a kernel of the same speed sums over tokens for the parameters
  plain,     // PyTorch's own: the kernel passes over rows twice; plain reductions for the parameters
  fused,     // Transformer Engine: one kernel for both
};

struct BackwardOptions {
  double gradient_buffer_bytes = 4;  // per element of the buffer in which weight gradients accumulate
  bool fused_accumulation = false;   // the weight-gradient GEMM adds into the gradient buffer itself
  double accumulation_bytes = 0;     // bytes per element of the addition; 0: both numbers are read, the sum is written
  bool fused_bias_sums = false;      // a product's epilogue sums the gradients of its bias
  NormKernels norms = NormKernels::separate;
};

// Appends the gradient operators to a forward graph, in the order in which automatic differentiation runs them: forward
// operators in reverse, an einsum's activation gradient before its weight gradient. A tensor used twice gets an
// operator that adds its gradients. Frozen parameters have no gradient; a block without input streams and without
// trained parameters has no gradient operators. Forward operators keep their ids.
OperatorGraph with_backward(OperatorGraph forward, const BackwardOptions& options);

// Returns the parameters that a gradient operator reads without listing them, as operands of its forward operator: the
// weight of a normalization, the decay of a scan, biases in a fused kernel that recomputes the sums with them. These
// parameters are in memory anyway, and small compared with the listed operands.
std::vector<Operand> unlisted_parameters(const OperatorGraph& graph, const Operator& gradient);

// Tensors that stay in memory between forward and backward, and operators that are recomputed before backward.
struct ActivationPlan {
  std::vector<TensorId> kept;          // in ascending order
  std::vector<OperatorId> recomputed;  // forward operators, in their order
};

// `graph` has its gradient operators, which read some tensors of the forward pass. Tensors in `dropped` are not kept
// but recomputed from the kept ones. Dropping graph.outputs as well re-executes the whole block, as checkpointing
// frameworks do.
ActivationPlan plan_activations(const OperatorGraph& graph, std::span<const TensorId> dropped);

// Tensors that the forward operators with a tag make: only those that no other operator reads (`inside`, arXiv
// 2205.05198, section 5), or also the results that others read (`with_results`). Empty if the block has no such tag.
enum class Produced { inside, with_results };
std::vector<TensorId> tensors_under(const OperatorGraph& graph, std::string_view tag, Produced produced);
// Returns the tensors to drop if attention and every other product of the block (the first, the third, ...) keep their
// results: all other activations except the block's outputs.
std::vector<TensorId> all_but_alternate_products(const OperatorGraph& graph);
// Returns the tensors that full recomputation drops: every activation of the block, including its outputs.
std::vector<TensorId> all_activations(const OperatorGraph& graph);
// Returns every activation except the block's outputs, for recomputation that ends with the tensor that backward reads
// last: backward does not read the outputs.
std::vector<TensorId> all_but_outputs(const OperatorGraph& graph);

}  // namespace mirfak
