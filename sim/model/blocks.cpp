// Builders of the blocks of a decoder-only transformer. They state the mathematics and which steps share
// a kernel; nothing here knows of devices. What backward keeps follows from the `saved` lists: GELU reads its
// input, dropout its mask, softmax its output, a normalization its input, a product its operands.

#include "model/blocks.hpp"

#include "model/block_builder.hpp"

namespace mirfak {

namespace {

TensorId build_layer(Builder& b, TensorId x, const LayerKind& kind) {
  std::size_t first = b.operator_count();
  const TensorId attention_input = b.normalize("attention_norm", x);
  b.mark(Module::layer_norm, first);
  const TensorId attended = build_attention(b, attention_input, kind);
  const TensorId middle = b.add_residual("attention_residual", attended, x, b.model().linear_bias);
  first = b.operator_count();
  const TensorId normalized = b.normalize("mlp_norm", middle);
  b.mark(Module::layer_norm, first);
  first = b.operator_count();
  const TensorId inner = kind.experts ? build_experts(b, normalized) : build_mlp(b, "mlp", normalized);
  b.mark(kind.experts ? Module::experts : Module::mlp, first);
  // Experts add their biases themselves, each its own.
  return b.add_residual("mlp_residual", inner, middle, b.model().linear_bias && !kind.experts);
}

}  // namespace

TensorId build_mlp(Builder& b, const std::string& prefix, TensorId x) {
  const bool gated = b.model().gated();
  std::vector<Axis> inner = {Axis::batch, Axis::sequence, Axis::ffn};
  std::vector<Axis> weight_axes = {Axis::hidden, Axis::ffn};
  if (gated) {
    inner.insert(inner.begin() + 2, Axis::gate);
    weight_axes.insert(weight_axes.begin() + 1, Axis::gate);
  }
  TensorId up =
      b.project(prefix + "_up", x, b.parameter(prefix + "_up_weight", weight_axes), inner, b.options().adapters.mlp_up);
  std::vector<TensorId> inputs = {up};
  if (b.model().linear_bias) {
    const TensorId bias = b.parameter(prefix + "_up_bias", std::vector<Axis>(inner.begin() + 2, inner.end()));
    if (b.options().fused_bias_activation) {
      inputs.push_back(bias);
    } else {
      up = b.add(prefix + "_up_bias", up, bias);
      inputs = {up};
    }
  }
  const std::string name = prefix == "mlp" ? "activation" : prefix + "_activation";
  const TensorId y = b.activation(name, {Axis::batch, Axis::sequence, Axis::ffn});
  b.op(name, OperatorKind::elementwise, inputs, {y}, {up});
  return b.project(prefix + "_down", y, b.parameter(prefix + "_down_weight", {Axis::ffn, Axis::hidden}), kResidual,
                   b.options().adapters.mlp_down);
}

OperatorGraph build_embedding_block(const ModelSpec& model, const BlockOptions& options) {
  Builder b("embedding", model, options);
  const TensorId ids = b.tensor("token_ids", {Axis::batch, Axis::sequence}, TensorRole::input, kTokenBytes);
  const TensorId table = b.parameter("word_embedding_weight", {Axis::vocabulary, Axis::hidden});
  TensorId x = b.activation("word_embedding", kResidual);
  b.op("word_embedding", OperatorKind::gather, {table, ids}, {x}, {ids});
  if (model.position == PositionEncoding::learned) {
    const TensorId positions = b.parameter("position_embedding_weight", {Axis::sequence, Axis::hidden});
    x = b.add("position_embedding", x, positions);
  }
  if (model.embedding_norm) x = b.normalize("embedding_norm", x);
  if (options.dropout) x = b.dropout("embedding_dropout", x);
  OperatorGraph graph = b.take();
  graph.output = x;
  return graph;
}

OperatorGraph build_layer_block(const ModelSpec& model, const BlockOptions& options, const LayerKind& kind) {
  Builder b(kind.experts ? "expert layer" : "layer", model, options);
  if (kind.experts) b.set(Axis::ffn, model.mixture.shared_ffn);
  const TensorId x = b.input("layer_input", kResidual);
  const TensorId y = build_layer(b, x, kind);
  OperatorGraph graph = b.take();
  graph.input = x;
  graph.output = y;
  return graph;
}

OperatorGraph build_prediction_block(const ModelSpec& model, const BlockOptions& options, const LayerKind& kind) {
  Builder b("prediction module", model, options);
  if (kind.experts) b.set(Axis::ffn, model.mixture.shared_ffn);
  const TensorId x = b.input("prediction_input", kResidual);
  const TensorId ids = b.tensor("token_ids", {Axis::batch, Axis::sequence}, TensorRole::input, kTokenBytes);
  const TensorId table = b.parameter("word_embedding_weight", {Axis::vocabulary, Axis::hidden});
  const TensorId embedded = b.activation("word_embedding", kResidual);
  b.op("word_embedding", OperatorKind::gather, {table, ids}, {embedded}, {ids});
  const TensorId both = b.activation("merged", {Axis::batch, Axis::sequence, Axis::merged});
  b.op("merge", OperatorKind::elementwise,
       {b.normalize("prediction_norm", x), b.normalize("prediction_embedding_norm", embedded)}, {both});
  const TensorId merged =
      b.project("prediction_projection", both,
                b.parameter("prediction_projection_weight", {Axis::merged, Axis::hidden}), kResidual);
  const TensorId y = build_layer(b, merged, kind);
  OperatorGraph graph = b.take();
  graph.input = x;
  graph.output = y;
  return graph;
}

OperatorGraph build_head_block(const ModelSpec& model, const BlockOptions& options) {
  Builder b("head", model, options);
  const TensorId x = b.input("head_input", kResidual);
  const TensorId normalized = b.normalize("final_norm", x);
  const TensorId weight = b.parameter("output_weight", {Axis::vocabulary, Axis::hidden});
  const TensorId logits = b.project("logits", normalized, weight, {Axis::batch, Axis::sequence, Axis::vocabulary});
  // Cross entropy over a vocabulary that may be sharded: three reductions over it (largest logit, sum of
  // exponentials, the target's logit), one number per token each. The softmax is kept in fp32 for backward.
  // Unfused (Megatron-LM's vocab_parallel_cross_entropy) the logits are cast to fp32 and then read or written
  // by max, subtract, exp, sum and divide: 38 bytes per logit where one pass moves 6.
  constexpr double unfused_passes = 38.0 / 6.0;
  const std::vector<Axis> tokens = {Axis::batch, Axis::sequence};
  const auto statistic = [&](const char* name) {
    return b.tensor(name, tokens, TensorRole::activation, kStatisticsBytes);
  };
  const TensorId largest = statistic("largest_logit");
  const TensorId sum = statistic("sum_of_exponentials");
  const TensorId target = statistic("target_logit");
  const TensorId softmax = b.tensor("softmax", b.axes(logits), TensorRole::activation, kStatisticsBytes);
  Operator& loss =
      b.op("cross_entropy", OperatorKind::cross_entropy, {logits}, {largest, sum, target, softmax}, {softmax});
  loss.passes = options.fused_cross_entropy ? 1 : unfused_passes;
  OperatorGraph graph = b.take();
  graph.input = x;
  return graph;
}

}  // namespace mirfak
