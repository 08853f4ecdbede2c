// Builders of the blocks of a transformer. They state the mathematics and which steps share
// a kernel; nothing here knows of devices. What backward keeps follows from the `saved` lists: GELU reads its
// input, dropout its mask, softmax its output, a normalization its input, a product its operands.

#include "model/blocks.hpp"

#include "model/block_builder.hpp"

namespace mirfak {

namespace {

// A gated activation as two kernels moves 5 tensors where one kernel moves 3: the function reads and writes one, the
// product reads two and writes one. Backward they move 9 instead of 5: two products, and the function's gradient.
constexpr double kSeparateGate = 5.0 / 3;
constexpr double kSeparateGateGradient = 9.0 / 5;

TensorId normalize_layer(Builder& b, const std::string& name, TensorId x) {
  const std::size_t first = b.operator_count();
  const TensorId y = b.normalize(name, x);
  b.mark("layernorm", first);
  return y;
}

TensorId build_layer(Builder& b, TensorId x, const LayerKind& kind) {
  const bool after = b.model().post_norm;
  b.enter("attn_branch");
  const TensorId attended = build_attention(b, after ? x : normalize_layer(b, "attention_norm", x), kind);
  TensorId middle = b.add_residual("attention_residual", attended, x, b.model().linear_bias);
  if (after) middle = normalize_layer(b, "attention_norm", middle);
  b.enter(kind.experts ? "router_branch" : "mlp_branch");
  const TensorId normalized = after ? middle : normalize_layer(b, "mlp_norm", middle);
  const std::size_t first = b.operator_count();
  const TensorId inner = kind.experts ? build_experts(b, normalized) : build_mlp(b, "mlp", normalized);
  b.mark(kind.experts ? "moe" : "mlp", first);
  // Experts add their biases themselves, each its own.
  const TensorId y = b.add_residual("mlp_residual", inner, middle, b.model().linear_bias && !kind.experts);
  return after ? normalize_layer(b, "mlp_norm", y) : y;
}

}  // namespace

TensorId build_mlp(Builder& b, const std::string& prefix, TensorId x) {
  const bool gated = b.model().gated();
  AxisLabels inner = {LayerAxis::batch, LayerAxis::sequence, LayerAxis::ffn};
  AxisLabels weight_axes = {LayerAxis::hidden, LayerAxis::ffn};
  if (gated) {
    inner.insert(inner.begin() + 2, LayerAxis::gate);
    weight_axes.insert(weight_axes.begin() + 1, LayerAxis::gate);
  }
  TensorId up =
      b.project(prefix + "_up", x, b.parameter(prefix + "_up_weight", weight_axes), inner, b.options().adapters.mlp_up);
  std::vector<TensorId> inputs = {up};
  if (b.model().linear_bias) {
    const TensorId bias = b.parameter(prefix + "_up_bias", AxisLabels(inner.begin() + 2, inner.end()));
    if (b.options().fused_bias_activation) {
      inputs.push_back(bias);
    } else {
      up = b.add_bias(prefix + "_up_bias", up, bias);
      inputs = {up};
    }
  }
  const std::string name = prefix == "mlp" ? "activation" : prefix + "_activation";
  const TensorId y = b.activation(name, {LayerAxis::batch, LayerAxis::sequence, LayerAxis::ffn});
  TensorId kept = up;
  if (b.options().narrow_activation_input) {
    kept = b.tensor(name + "_input_in_8_bits", b.axes(up), TensorRole::activation, kMaskBytes);
    b.op(name + "_input_in_8_bits", OperatorKind::elementwise, {up}, {kept});
  }
  Operator& activation = b.op(name, OperatorKind::elementwise, inputs, {y}, {kept});
  if (gated && !b.options().fused_bias_activation) {
    activation.passes = kSeparateGate;
    activation.gradient_passes = kSeparateGateGradient;
  }
  if (b.model().activation == ActivationFunction::gelu && b.model().causal && b.options().chained_gelu) {
    activation.passes = kChainedGelu;
    activation.gradient_passes = kChainedGeluGradient;
  }
  return b.project(prefix + "_down", y, b.parameter(prefix + "_down_weight", {LayerAxis::ffn, LayerAxis::hidden}),
                   kResidual, b.options().adapters.mlp_down);
}

OperatorGraph build_embedding_block(const ModelSpec& model, const BlockOptions& options) {
  Builder b("embedding", model, options);
  const TensorId ids = b.tensor("token_ids", {LayerAxis::batch, LayerAxis::sequence}, TensorRole::input, kTokenBytes);
  const TensorId table = b.parameter("word_embedding_weight", {LayerAxis::vocabulary, LayerAxis::hidden});
  TensorId x = b.activation("word_embedding", kResidual);
  b.op("word_embedding", OperatorKind::gather, {table, ids}, {x}, {ids}).over = {LayerAxis::vocabulary};
  if (model.position == PositionEncoding::learned) {
    const TensorId positions = b.parameter("position_embedding_weight", {LayerAxis::sequence, LayerAxis::hidden});
    x = b.add("position_embedding", x, positions);
  }
  if (model.sentence_pairs) {
    const TensorId types =
        b.tensor("token_types", {LayerAxis::batch, LayerAxis::sequence}, TensorRole::input, kTokenBytes);
    const TensorId type_table = b.parameter("token_type_embedding_weight", {LayerAxis::pair, LayerAxis::hidden});
    const TensorId rows = b.activation("token_type_embedding", kResidual);
    b.op("token_type_embedding", OperatorKind::gather, {type_table, types}, {rows}, {types}).over = {LayerAxis::pair};
    x = b.add("token_types", x, rows);
  }
  if (model.embedding_norm) x = b.normalize("embedding_norm", x);
  if (options.dropout) x = b.dropout("embedding_dropout", x);
  OperatorGraph graph = b.take();
  graph.outputs = {x};
  return graph;
}

OperatorGraph build_layer_block(const ModelSpec& model, const BlockOptions& options, const LayerKind& kind) {
  Builder b(kind.experts ? "expert layer" : "layer", model, options);
  if (kind.experts) b.set(LayerAxis::ffn, model.mixture.shared_ffn);
  const TensorId x = b.input("layer_input", kResidual);
  const TensorId y = build_layer(b, x, kind);
  OperatorGraph graph = b.take();
  graph.inputs = {x};
  graph.outputs = {y};
  return graph;
}

OperatorGraph build_prediction_block(const ModelSpec& model, const BlockOptions& options, const LayerKind& kind) {
  Builder b("prediction module", model, options);
  if (kind.experts) b.set(LayerAxis::ffn, model.mixture.shared_ffn);
  const TensorId x = b.input("prediction_input", kResidual);
  const TensorId ids = b.tensor("token_ids", {LayerAxis::batch, LayerAxis::sequence}, TensorRole::input, kTokenBytes);
  const TensorId table = b.parameter("word_embedding_weight", {LayerAxis::vocabulary, LayerAxis::hidden});
  const TensorId embedded = b.activation("word_embedding", kResidual);
  b.op("word_embedding", OperatorKind::gather, {table, ids}, {embedded}, {ids}).over = {LayerAxis::vocabulary};
  const TensorId both = b.activation("merged", {LayerAxis::batch, LayerAxis::sequence, LayerAxis::merged});
  b.op("merge", OperatorKind::elementwise,
       {b.normalize("prediction_norm", x), b.normalize("prediction_embedding_norm", embedded)}, {both});
  const TensorId merged =
      b.project("prediction_projection", both,
                b.parameter("prediction_projection_weight", {LayerAxis::merged, LayerAxis::hidden}), kResidual);
  const TensorId y = build_layer(b, merged, kind);
  OperatorGraph graph = b.take();
  graph.inputs = {x};
  graph.outputs = {y};
  return graph;
}

}  // namespace mirfak
