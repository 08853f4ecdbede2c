// A mixture of experts as an einsum with sparse operands. Dense, it would send every token to every expert and multiply
// by a gate that is mostly zero (GShard, arXiv 2006.16668): tensors [experts, batch, sequence, ...]. Only the rows of
// the experts that a token visits exist, a share of per_token / experts, evenly spread over experts; that share is the
// tensor's `density`. So sharding sees ordinary axes: with experts divided where the batch was, the rows change places
// by an all-to-all.
#include "model/block_builder.hpp"

namespace mirfak {

namespace {

TensorId sparse(Builder& b, const std::string& name, std::vector<Axis> inner, double element_bytes) {
  std::vector<Axis> axes = {Axis::experts, Axis::batch, Axis::sequence};
  axes.insert(axes.end(), inner.begin(), inner.end());
  const MixtureOfExperts& mixture = b.model().mixture;
  const double density = static_cast<double>(mixture.per_token) / static_cast<double>(mixture.experts);
  return b.tensor(name, std::move(axes), TensorRole::activation, element_bytes, density);
}

TensorId project_experts(Builder& b, const std::string& name, TensorId x, std::vector<Axis> weight_axes,
                         std::vector<Axis> result_axes, double element_bytes) {
  std::vector<Axis> axes = {Axis::experts};
  axes.insert(axes.end(), weight_axes.begin(), weight_axes.end());
  TensorId y = sparse(b, name, result_axes, element_bytes);
  b.op(name, OperatorKind::einsum, {x, b.parameter(name + "_weight", std::move(axes))}, {y});
  if (!b.model().linear_bias) return y;
  axes = {Axis::experts};
  axes.insert(axes.end(), result_axes.begin(), result_axes.end());
  const TensorId bias = b.parameter(name + "_bias", std::move(axes));
  const TensorId sum = sparse(b, name + "_biased", std::move(result_axes), element_bytes);
  b.op(name + "_bias", OperatorKind::elementwise, {y, bias}, {sum}).passes_gradient = {y};
  return sum;
}

// Scores in fp32, the choice of experts, and the loss that balances them.
TensorId route(Builder& b, TensorId x) {
  const std::vector<Axis> axes = {Axis::batch, Axis::sequence, Axis::candidates};
  const auto scores = [&](const char* name) { return b.tensor(name, axes, TensorRole::activation, kStatisticsBytes); };
  const TensorId logits = scores("router_logits");
  b.op("router", OperatorKind::einsum, {x, b.parameter("router_weight", {Axis::hidden, Axis::candidates})}, {logits});
  std::vector<TensorId> chosen_by = {logits};
  if (b.model().linear_bias) chosen_by.push_back(b.parameter("router_bias", {Axis::candidates}));
  const TensorId weights = scores("router_weights");
  b.op("top_k", OperatorKind::elementwise, chosen_by, {weights}, {weights});
  return weights;
}

}  // namespace

TensorId build_experts(Builder& b, TensorId x) {
  const double bytes = b.options().element_bytes;
  const TensorId weights = route(b, x);
  b.enter(LayerPart::experts);
  const auto rows_of_hidden = [&](const char* name) { return sparse(b, name, {Axis::hidden}, bytes); };
  TensorId rows = rows_of_hidden("dispatched");
  const TensorId row_weights = sparse(b, "dispatched_weights", {}, kStatisticsBytes);
  const double passes = b.options().exchange_permutes ? 0 : 1;
  b.op("dispatch", OperatorKind::dispatch, {x, weights}, {rows, row_weights}).passes = passes;
  if (b.options().rows_sorted) {
    const TensorId sorted = rows_of_hidden("sorted_rows");
    b.op("sort_rows", OperatorKind::elementwise, {rows}, {sorted});
    rows = sorted;
  }

  std::vector<Axis> inner = {Axis::expert_ffn};
  if (b.model().gated()) inner.insert(inner.begin(), Axis::gate);
  std::vector<Axis> up_axes = inner;
  up_axes.insert(up_axes.begin(), Axis::hidden);
  const TensorId up = project_experts(b, "expert_up", rows, up_axes, inner, bytes);
  // Multiplies by the weight of the expert as well.
  const std::size_t first = b.operator_count();
  const TensorId activated = sparse(b, "expert_activation", {Axis::expert_ffn}, bytes);
  b.op("expert_activation", OperatorKind::elementwise, {up, row_weights}, {activated}, {up, row_weights});
  b.mark(Module::expert_activation, first);
  TensorId down = project_experts(b, "expert_down", activated, {Axis::expert_ffn, Axis::hidden}, {Axis::hidden}, bytes);

  if (b.options().rows_sorted) {
    const TensorId unsorted = rows_of_hidden("unsorted_rows");
    b.op("unsort_rows", OperatorKind::elementwise, {down}, {unsorted});
    down = unsorted;
  }
  const TensorId combined = b.activation("combined", kResidual);
  b.op("combine", OperatorKind::combine, {down}, {combined}).passes = passes;
  if (b.model().mixture.shared_ffn == 0) return combined;
  b.enter(LayerPart::router);
  return b.add("shared_expert_sum", combined, build_mlp(b, "shared_expert", x));
}

}  // namespace mirfak
