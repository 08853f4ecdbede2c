#include "model/kernel_fusion.hpp"

#include "graph/fusion.hpp"
#include "model/unfused_kernels.hpp"

#include <utility>

namespace mirfak {

namespace {

// x * cos + rotate_half(x) * sin: a copy, two products and a sum move 9 tensors where one kernel moves 2.
constexpr double kSeparateRotary = 9.0 / 2;

// The framework's rules, behind what it runs as chains of plain kernels.
FusionRules rules_of(const BlockOptions& options) {
  FusionRules rules;
  if (options.chained_gelu) rules.chains.push_back({{"gelu"}, kChainedGelu, kChainedGeluGradient});
  if (!options.fused_rotary) rules.chains.push_back({{"rotary"}, kSeparateRotary, 0});
  rules.chains.insert(rules.chains.end(), options.fusion.chains.begin(), options.fusion.chains.end());
  rules.epilogues = options.fusion.epilogues;
  rules.packed_tags = options.fusion.packed_tags;
  return rules;
}

// Weights are kept in fp32 and cast before each product.
void cast_weights(OperatorGraph& graph) {
  std::vector<Operator> operators;
  for (Operator& op : graph.operators) {
    for (const Operand& input : op.inputs) {
      const Tensor& weight = graph.tensor(input.tensor);
      if (op.kind != OperatorKind::einsum || weight.role != TensorRole::parameter) continue;
      Operator cast;
      cast.name = "cast_" + weight.name;
      cast.kind = OperatorKind::elementwise;
      cast.function = "cast";
      cast.inputs = {{input.tensor, weight.axes, {}}};
      cast.passes = kCast;
      operators.push_back(std::move(cast));
    }
    operators.push_back(std::move(op));
  }
  graph.operators = std::move(operators);
}

void price_loss(OperatorGraph& graph, const BlockOptions& options) {
  for (Operator& op : graph.operators) {
    if (op.kind != OperatorKind::cross_entropy || options.fused_cross_entropy) continue;
    op.passes = kSeparateLoss;
    op.gradient_passes = kSeparateLossGradient;
  }
}

}  // namespace

OperatorGraph with_fused_kernels(OperatorGraph graph, const BlockOptions& options) {
  OperatorGraph out = fuse(std::move(graph), rules_of(options));
  price_loss(out, options);
  if (options.casts_weights) cast_weights(out);
  return out;
}

}  // namespace mirfak
