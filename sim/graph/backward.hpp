#pragma once

#include "graph/operator_graph.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace mirfak {

// How the gradients of a normalization run.
enum class NormKernels {
  separate,  // NVIDIA/apex: rows once, sums over tokens for the parameters in a kernel as fast
  plain,     // PyTorch's own: its kernel goes over the rows twice, plain reductions for the parameters
  fused,     // Transformer Engine: one kernel does both
};

struct BackwardOptions {
  double gradient_buffer_bytes = 4;  // per element of the buffer that weight gradients accumulate in
  bool fused_accumulation = false;   // the weight-gradient GEMM adds into that buffer itself
  double accumulation_bytes = 0;  // else moved per element to add to it; 0: both numbers are read, the sum is written
  bool fused_bias_sums = false;   // a product's epilogue sums up the gradients of its bias
  NormKernels norms = NormKernels::separate;
};

// Appends the gradient operators to a forward graph, in the order in which automatic differentiation runs them:
// forward operators in reverse, an einsum's activation gradient before its weight gradient. A tensor used twice
// gets an operator that adds its gradients. Frozen parameters have no gradient; a block without streams that enter and
// without trained parameters has no gradient operators. Forward operators keep their ids.
OperatorGraph with_backward(OperatorGraph forward, const BackwardOptions& options);

// The parameters that a gradient operator reads though it does not list them, as its forward operator reads them: the
// weight of a normalization, the decay of a scan, biases in a fused kernel that computes again what it added them to.
// They are in memory anyway, and small beside what is listed.
std::vector<Operand> unlisted_parameters(const OperatorGraph& graph, const Operator& gradient);

// What stays in memory between forward and backward, and what is computed again before backward.
struct ActivationPlan {
  std::vector<TensorId> kept;          // ascending
  std::vector<OperatorId> recomputed;  // forward operators, in their order
};

// `graph` has its gradient operators. They read some tensors of the forward pass; those in `dropped` are not kept but
// recomputed from what is. Dropping graph.outputs as well re-executes the whole block, as checkpointing frameworks do.
ActivationPlan plan_activations(const OperatorGraph& graph, std::span<const TensorId> dropped);

// What the forward operators with a tag produce for themselves alone (arXiv 2205.05198, section 5), or with their
// results, which others read; none where the block has no such tag.
enum class Produced { inside, with_results };
std::vector<TensorId> tensors_under(const OperatorGraph& graph, std::string_view tag, Produced produced);
// What is dropped where attention and every other product of the block (the first, the third, ...) keep what they make:
// all else but the outputs of the block.
std::vector<TensorId> all_but_alternate_products(const OperatorGraph& graph);
// What full recomputation drops: every activation of the block, its outputs included.
std::vector<TensorId> all_activations(const OperatorGraph& graph);
// The same where recomputation ends with what backward reads last: the outputs are nothing that it reads.
std::vector<TensorId> all_but_outputs(const OperatorGraph& graph);

}  // namespace mirfak
