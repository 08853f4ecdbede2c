#pragma once

#include "graph/fusion.hpp"
#include "graph/operator_graph.hpp"

namespace mirfak {

// Which kernels a framework runs beside those that the mathematics asks for, and how often what it runs as chains of
// plain kernels moves its operands. They apply to operators by what these compute, whatever block they stand in.
struct BlockKernels {
  bool fused_rotary = false;                      // rotary embedding in one kernel; else several elementwise ones
  bool chained_gelu = false;                      // GELU as a chain of plain kernels
  bool chained_rms_norm = false;                  // RMS norms as a chain of plain kernels
  std::vector<PlainKernel> norm_input_cast = {};  // what makes fp32 copies that normalizations read; none: they read x
  bool casts_weights = false;                     // weights are kept in fp32 and cast before each product (autocast)
  bool narrow_activation_input = false;           // what backward needs of operators tagged @mlp_act is kept in 8 bits
  // Mixtures of experts.
  bool rows_sorted = false;              // rows are sorted once more behind their exchange between ranks
  bool rows_padded = false;              // every expert's rows are copied to where their number suits the product
  double copies_per_token = 1;           // of a token, which the kernel that sorts them by expert reads
  std::vector<PlainKernel> expert_bias;  // what adds biases to experts' results and weights them; none: one addition
  std::vector<PlainKernel> expert_bias_gradient;
  // The loss.
  bool fused_cross_entropy = false;      // one kernel; else several passes over the fp32 logits
  bool loss_recomputes_softmax = false;  // its backward reads the logits and overwrites them
  double logit_metric_bytes = 0;         // moved per logit by metrics that are computed with every loss

  friend bool operator==(const BlockKernels&, const BlockKernels&) = default;
};

// The chains that stand before a framework's own: kernels that all have, and those that run as several plain ones.
FusionRules with_plain_kernels(FusionRules rules, const BlockKernels& kernels);

// `forward` is fused already and has no gradient operators yet.
OperatorGraph with_block_kernels(OperatorGraph forward, const BlockKernels& kernels);

}  // namespace mirfak
