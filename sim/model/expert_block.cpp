// A mixture of experts as an einsum with sparse operands. Dense, it would send every token to every expert and multiply
// by a gate that is mostly zero (GShard, arXiv 2006.16668): tensors [experts, batch, sequence, ...]. Only the rows of
// the experts that a token visits exist, a share of per_token / experts, evenly spread over experts; that share is the
// tensor's `density`. So sharding sees ordinary axes: with experts divided where the batch was, the rows change places
// by an all-to-all.
#include "model/block_builder.hpp"

namespace mirfak {

namespace {

TensorId sparse(Builder& b, const std::string& name, const AxisLabels& inner, double element_bytes) {
  AxisLabels axes = {LayerAxis::experts, LayerAxis::batch, LayerAxis::sequence};
  for (const Axis axis : inner) axes.push_back(axis);
  const MixtureOfExperts& mixture = b.model().mixture;
  const double density = static_cast<double>(mixture.per_token) / static_cast<double>(mixture.experts);
  return b.tensor(name, axes, TensorRole::activation, element_bytes, density);
}

TensorId project_experts(Builder& b, const std::string& name, TensorId x, const AxisLabels& weight_axes,
                         const AxisLabels& result_axes, double element_bytes) {
  AxisLabels axes = {LayerAxis::experts};
  for (const Axis axis : weight_axes) axes.push_back(axis);
  const TensorId y = sparse(b, name, result_axes, element_bytes);
  b.op(name, OperatorKind::einsum, {x, b.parameter(name + "_weight", axes)}, {y}).linear = true;
  return y;
}

// The product adds the bias where `in_product`. Else, weighted as the expert is, it may take several kernels.
TensorId add_expert_bias(Builder& b, const std::string& name, TensorId y, const AxisLabels& result_axes,
                         double element_bytes, bool in_product) {
  if (!b.model().linear_bias) return y;
  AxisLabels axes = {LayerAxis::experts};
  for (const Axis axis : result_axes) axes.push_back(axis);
  const TensorId bias = b.parameter(name + "_bias", axes);
  const TensorId sum = sparse(b, name + "_biased", result_axes, element_bytes);
  Operator& added = b.op(name + "_bias", OperatorKind::elementwise, {y, bias}, {sum});
  added.part_of_kernel = in_product;
  if (in_product || b.options().expert_bias_bytes <= 0) {
    added.passes_gradient = {y};
  } else {
    added.passes = b.options().expert_bias_bytes / (2 * element_bytes);
    added.gradient_passes = b.options().expert_bias_gradient_bytes / (2 * element_bytes);
  }
  return sum;
}

// Scores in fp32, the choice of experts, and the loss that balances them.
TensorId route(Builder& b, TensorId x) {
  const AxisLabels axes = {LayerAxis::batch, LayerAxis::sequence, LayerAxis::candidates};
  const auto scores = [&](const char* name) { return b.tensor(name, axes, TensorRole::activation, kStatisticsBytes); };
  const TensorId logits = scores("router_logits");
  b.op("router", OperatorKind::einsum, {x, b.parameter("router_weight", {LayerAxis::hidden, LayerAxis::candidates})},
       {logits});
  std::vector<TensorId> chosen_by = {logits};
  if (b.model().linear_bias) chosen_by.push_back(b.parameter("router_bias", {LayerAxis::candidates}));
  const TensorId weights = scores("router_weights");
  b.op("top_k", OperatorKind::elementwise, chosen_by, {weights}, {weights});
  return weights;
}

}  // namespace

TensorId build_experts(Builder& b, TensorId x) {
  const double bytes = b.options().element_bytes;
  const TensorId weights = route(b, x);
  b.enter("experts_branch");
  const auto rows_of_hidden = [&](const char* name) { return sparse(b, name, {LayerAxis::hidden}, bytes); };
  TensorId rows = rows_of_hidden("dispatched");
  const TensorId row_weights = sparse(b, "dispatched_weights", {}, kStatisticsBytes);
  // Sorting reads what has arrived, or the tokens themselves, and writes rows; back likewise.
  const auto per_token = static_cast<double>(b.model().mixture.per_token);
  const double passes = (per_token + b.options().copies_per_token) / (per_token + 1);
  Operator& dispatch = b.op("dispatch", OperatorKind::dispatch, {x, weights}, {rows, row_weights});
  dispatch.over = {LayerAxis::experts};
  dispatch.passes = passes;
  const auto copy_rows = [&](TensorId from, const char* name, const char* to) {
    const TensorId copied = rows_of_hidden(to);
    b.op(name, OperatorKind::elementwise, {from}, {copied});
    return copied;
  };
  if (b.options().rows_sorted) rows = copy_rows(rows, "sort_rows", "sorted_rows");
  if (b.options().rows_padded) rows = copy_rows(rows, "pad_rows", "padded_rows");

  AxisLabels inner = {LayerAxis::expert_ffn};
  if (b.model().gated()) inner.insert(inner.begin(), LayerAxis::gate);
  AxisLabels up_axes = inner;
  up_axes.insert(up_axes.begin(), LayerAxis::hidden);
  TensorId up = project_experts(b, "expert_up", rows, up_axes, inner, bytes);
  up = add_expert_bias(b, "expert_up", up, inner, bytes, b.options().fused_linear_bias);
  // Multiplies by the weight of the expert as well.
  const std::size_t first = b.operator_count();
  const TensorId activated = sparse(b, "expert_activation", {LayerAxis::expert_ffn}, bytes);
  b.op("expert_activation", OperatorKind::elementwise, {up, row_weights}, {activated}, {up, row_weights});
  b.mark("moe_act", first);
  TensorId down = project_experts(b, "expert_down", activated, {LayerAxis::expert_ffn, LayerAxis::hidden},
                                  {LayerAxis::hidden}, bytes);
  if (b.options().rows_padded) down = copy_rows(down, "unpad_rows", "unpadded_rows");
  down = add_expert_bias(b, "expert_down", down, {LayerAxis::hidden}, bytes, false);
  if (b.options().rows_sorted) down = copy_rows(down, "unsort_rows", "unsorted_rows");
  const TensorId combined = b.activation("combined", kResidual);
  Operator& combine = b.op("combine", OperatorKind::combine, {down}, {combined});
  combine.over = {LayerAxis::experts};
  combine.passes = passes;
  if (b.model().mixture.shared_ffn == 0) return combined;
  b.enter("router_branch");
  return b.add("shared_expert_sum", combined, build_mlp(b, "shared_expert", x));
}

}  // namespace mirfak
