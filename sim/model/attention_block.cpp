#include "model/block_builder.hpp"

namespace mirfak {

namespace {

const AxisLabels kScores = {LayerAxis::batch, LayerAxis::kv_heads, LayerAxis::query_group, LayerAxis::sequence,
                            LayerAxis::kv_sequence};

struct QueryKeyValue {
  TensorId query;
  TensorId key;
  TensorId value;
};

TensorId rotate(Builder& b, const std::string& name, TensorId x) {
  if (b.options().fused_rotary) return b.elementwise(name, {x}, {});
  // Eager frameworks compute x * cos + rotate_half(x) * sin: a copy, two products and a sum.
  const TensorId half = b.elementwise(name + "_half", {x}, {});
  const TensorId sine = b.elementwise(name + "_sin", {half}, {});
  const TensorId cosine = b.elementwise(name + "_cos", {x}, {});
  return b.add(name, cosine, sine);
}

QueryKeyValue project_qkv(Builder& b, TensorId x) {
  const AxisLabels packed_axes = {LayerAxis::batch, LayerAxis::sequence, LayerAxis::kv_heads, LayerAxis::qkv_group,
                                  LayerAxis::head_dim};
  const TensorId weight =
      b.parameter("qkv_weight", {LayerAxis::hidden, LayerAxis::kv_heads, LayerAxis::qkv_group, LayerAxis::head_dim});
  TensorId packed = b.project("qkv_projection", x, weight, packed_axes, b.options().adapters.query_key_value);
  if (b.model().qkv_bias) {
    const TensorId bias = b.parameter("qkv_bias", {LayerAxis::kv_heads, LayerAxis::qkv_group, LayerAxis::head_dim});
    packed = b.add_bias("qkv_bias", packed, bias);
  }
  const AxisLabels kv_axes = {LayerAxis::batch, LayerAxis::sequence, LayerAxis::kv_heads, LayerAxis::head_dim};
  QueryKeyValue out{};
  out.query = b.activation("query", {LayerAxis::batch, LayerAxis::sequence, LayerAxis::kv_heads, LayerAxis::query_group,
                                     LayerAxis::head_dim});
  out.key = b.activation("key", kv_axes);
  out.value = b.activation("value", kv_axes);
  b.op("split_qkv", OperatorKind::view, {packed}, {out.query, out.key, out.value});
  if (b.model().qk_norm) {
    out.query = b.normalize("query_norm", out.query, LayerAxis::head_dim);
    out.key = b.normalize("key_norm", out.key, LayerAxis::head_dim);
  }
  if (b.model().position == PositionEncoding::rotary) {
    out.query = rotate(b, "rotary_query", out.query);
    out.key = rotate(b, "rotary_key", out.key);
  }
  return out;
}

// Queries, keys and values by way of latent vectors (arXiv 2405.04434, section 2.1): down to the latent, a norm, up to
// heads. The position part of a key comes beside the latent and is the same for all heads.
QueryKeyValue project_latent(Builder& b, TensorId x) {
  const AxisLabels heads = {LayerAxis::batch, LayerAxis::sequence, LayerAxis::kv_heads, LayerAxis::query_group,
                            LayerAxis::head_dim};
  const AxisLabels key_heads = {LayerAxis::batch, LayerAxis::sequence, LayerAxis::kv_heads, LayerAxis::head_dim};
  TensorId source = x;
  Axis from = LayerAxis::hidden;
  if (b.model().latent.query_rank > 0) {
    from = LayerAxis::query_rank;
    const TensorId down = b.project("query_down", x, b.parameter("query_down_weight", {LayerAxis::hidden, from}),
                                    {LayerAxis::batch, LayerAxis::sequence, from});
    source = b.normalize("query_latent_norm", down, from);
  }
  const TensorId packed = b.project(
      "key_value_down", x, b.parameter("key_value_down_weight", {LayerAxis::hidden, LayerAxis::key_value_packed}),
      {LayerAxis::batch, LayerAxis::sequence, LayerAxis::key_value_packed});
  const TensorId latent =
      b.activation("key_value_latent", {LayerAxis::batch, LayerAxis::sequence, LayerAxis::key_value_rank});
  const TensorId position =
      b.activation("key_position", {LayerAxis::batch, LayerAxis::sequence, LayerAxis::position_dim});
  b.op("split_key_value", OperatorKind::view, {packed}, {latent, position});
  const TensorId normalized = b.normalize("key_value_latent_norm", latent, LayerAxis::key_value_rank);

  const std::size_t first = b.operator_count();
  const TensorId query = b.project(
      "query_up", source,
      b.parameter("query_up_weight", {from, LayerAxis::kv_heads, LayerAxis::query_group, LayerAxis::head_dim}), heads);
  const TensorId up = b.project(
      "key_value_up", normalized,
      b.parameter("key_value_up_weight", {LayerAxis::key_value_rank, LayerAxis::kv_heads, LayerAxis::content_value}),
      {LayerAxis::batch, LayerAxis::sequence, LayerAxis::kv_heads, LayerAxis::content_value});
  QueryKeyValue out{};
  out.query = rotate(b, "rotary_query", query);
  out.key = b.activation("key", key_heads);
  out.value = b.activation("value", {LayerAxis::batch, LayerAxis::sequence, LayerAxis::kv_heads, LayerAxis::value_dim});
  b.op("rotary_key_value", OperatorKind::elementwise, {up, position}, {out.key, out.value});
  b.mark("mla_up_proj", first);
  return out;
}

// Queries' axes with the width of a value for that of a query.
AxisLabels context_axes(const Builder& b, const QueryKeyValue& qkv) {
  AxisLabels axes = b.axes(qkv.query);
  axes.back() = b.axes(qkv.value).back();
  return axes;
}

TensorId fused_attention(Builder& b, const QueryKeyValue& qkv, std::int64_t window) {
  const std::size_t first = b.operator_count();
  const TensorId context = b.activation("context", context_axes(b, qkv));
  const TensorId statistics = b.tensor(
      "attention_logsumexp", {LayerAxis::batch, LayerAxis::sequence, LayerAxis::kv_heads, LayerAxis::query_group},
      TensorRole::activation, kStatisticsBytes);
  Operator& attention = b.op("attention", OperatorKind::attention, {qkv.query, qkv.key, qkv.value},
                             {context, statistics}, {qkv.query, qkv.key, qkv.value, context, statistics});
  Builder::relabel(attention.inputs[1], LayerAxis::sequence, LayerAxis::kv_sequence);
  Builder::relabel(attention.inputs[2], LayerAxis::sequence, LayerAxis::kv_sequence);
  attention.over = {LayerAxis::sequence, LayerAxis::kv_sequence, LayerAxis::head_dim};
  attention.causal = b.model().causal;
  attention.window = window;
  attention.matmuls = 2;
  b.mark("core_attn", first);
  return context;
}

TensorId softmax_scores(Builder& b, TensorId scores) {
  if (!b.options().fused_softmax) {
    scores = b.elementwise("scale_scores", {scores}, {});
    scores = b.elementwise("mask_scores", {scores}, {});
  }
  const TensorId probabilities = b.activation("probabilities", kScores);
  Operator& softmax = b.op("softmax", OperatorKind::softmax, {scores}, {probabilities}, {probabilities});
  softmax.over = {LayerAxis::kv_sequence};
  // Megatron-LM's fused kernel (megatron/fused_kernels/scaled_upper_triang_masked_softmax.h) reads the scores under the
  // diagonal and writes all: 1.5 passes of 2, backward 2 of 3.
  if (b.options().fused_softmax) {
    softmax.passes = 1.5 / 2;
    softmax.gradient_passes = 2.0 / 3;
  }
  return b.options().dropout ? b.dropout("attention_dropout", probabilities) : probabilities;
}

TensorId unfused_attention(Builder& b, const QueryKeyValue& qkv) {
  const std::size_t first = b.operator_count();
  const TensorId scores = b.activation("scores", kScores);
  Operator& product = b.op("attention_scores", OperatorKind::einsum, {qkv.query, qkv.key}, {scores});
  Builder::relabel(product.inputs[1], LayerAxis::sequence, LayerAxis::kv_sequence);
  const TensorId probabilities = softmax_scores(b, scores);
  const TensorId context = b.activation("context", context_axes(b, qkv));
  Operator& mix = b.op("attention_context", OperatorKind::einsum, {probabilities, qkv.value}, {context});
  Builder::relabel(mix.inputs[1], LayerAxis::sequence, LayerAxis::kv_sequence);
  // The products leave heads before tokens: a copy puts the heads of a token together.
  const TensorId gathered = b.elementwise("gather_heads", {context}, {});
  b.mark("core_attn", first);
  return gathered;
}

}  // namespace

TensorId build_attention(Builder& b, TensorId x, const LayerKind& kind) {
  const QueryKeyValue qkv = b.model().latent.key_value_rank > 0 ? project_latent(b, x) : project_qkv(b, x);
  const TensorId context =
      b.options().fused_attention ? fused_attention(b, qkv, kind.window) : unfused_attention(b, qkv);
  const TensorId weight = b.parameter("output_projection_weight", {LayerAxis::kv_heads, LayerAxis::query_group,
                                                                   b.axes(context).back(), LayerAxis::hidden});
  return b.project("output_projection", context, weight, kResidual, b.options().adapters.attention_output);
}

}  // namespace mirfak
