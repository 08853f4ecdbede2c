#pragma once

#include "graph/fusion.hpp"
#include "graph/operator_graph.hpp"

namespace mirfak {

// Kernels that a framework runs in addition to those that the mathematics asks for, and the memory traffic of
// computations that it runs as chains of plain kernels. They apply to operators by the function that these compute, in
// any block.
struct BlockKernels {
  bool fused_rotary = false;                      // rotary embedding in one kernel; else several elementwise ones
  bool chained_gelu = false;                      // GELU as a chain of plain kernels
  bool chained_rms_norm = false;                  // RMS norms as a chain of plain kernels
  std::vector<PlainKernel> norm_input_cast = {};  // kernels that make fp32 inputs of normalizations; empty: no copies
  bool casts_weights = false;                     // weights are kept in fp32 and cast before each product (autocast)
  bool narrow_activation_input = false;           // operators tagged @mlp_act keep 8-bit copies for backward
  // Mixtures of experts.
  bool rows_sorted = false;              // rows are sorted once more after their exchange between ranks
  bool rows_padded = false;              // every expert's rows are copied so that their number suits the product
  double copies_per_token = 1;           // copies of a token that the kernel reads which sorts tokens by expert
  std::vector<PlainKernel> expert_bias;  // kernels that add and weight biases of experts' results; empty: one addition
  std::vector<PlainKernel> expert_bias_gradient;
  // Adapters of linear layers.
  bool wide_adapters = false;    // in fp32 though weights have 16 bits (AdapterRules::wide)
  bool scales_adapters = false;  // the scale of adapters is a kernel of its own
  // The loss.
  bool fused_cross_entropy = false;      // one kernel; else several passes over the fp32 logits
  bool loss_recomputes_softmax = false;  // backward reads the logits and overwrites them
  double logit_metric_bytes = 0;         // bytes moved per logit by metrics that are computed with every loss

  friend bool operator==(const BlockKernels&, const BlockKernels&) = default;
};

// Returns the rules with additional chains before a framework's own: kernels that all frameworks have, and functions
// that run as several plain kernels.
FusionRules with_plain_kernels(FusionRules rules, const BlockKernels& kernels);

// Returns the graph with the framework's additional kernels. `forward` is fused already and has no gradient operators
// yet.
OperatorGraph with_block_kernels(OperatorGraph forward, const BlockKernels& kernels);

}  // namespace mirfak
