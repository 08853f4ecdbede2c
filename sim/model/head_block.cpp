// The end of a model: final normalization, logits and loss. A masked language model picks out the tokens to predict and
// transforms them first; one of sentence pairs classifies the pair by its first token beside.

#include "model/block_builder.hpp"

namespace mirfak {

namespace {

// Cross entropy over classes that may be sharded: three reductions over them (largest logit, sum of exponentials, the
// target's logit), one number per token each. Unfused it is several plain passes (unfused_kernels.hpp). A fused
// kernel writes the gradient over the logits, in their precision (Transformer Engine,
// transformer_engine/pytorch/triton/cross_entropy.py; Liger, flash-attn).
void add_loss(Builder& b, const std::string& prefix, TensorId logits) {
  const AxisLabels tokens(b.axes(logits).begin(), b.axes(logits).end() - 1);
  const auto statistic = [&](const char* name) {
    return b.tensor(prefix + name, tokens, TensorRole::activation, kStatisticsBytes);
  };
  if (b.options().logit_metric_bytes > 0 && prefix.empty()) {
    b.op("metrics", OperatorKind::elementwise, {logits}, {}).passes =
        b.options().logit_metric_bytes / b.options().element_bytes;
  }
  const TensorId largest = statistic("largest_logit");
  const TensorId sum = statistic("sum_of_exponentials");
  const TensorId target = statistic("target_logit");
  if (b.options().loss_recomputes_softmax) {
    b.op(prefix + "cross_entropy", OperatorKind::cross_entropy, {logits}, {largest, sum, target},
         {logits, largest, sum});
    return;
  }
  const bool fused = b.options().fused_cross_entropy;
  const TensorId softmax = b.tensor(prefix + "softmax", b.axes(logits), TensorRole::activation,
                                    fused ? b.options().element_bytes : kStatisticsBytes);
  Operator& loss =
      b.op(prefix + "cross_entropy", OperatorKind::cross_entropy, {logits}, {largest, sum, target, softmax}, {softmax});
  if (fused) return;
  loss.passes = kSeparateLoss;
  loss.gradient_passes = kSeparateLossGradient;
}

// x of some tokens of each sequence.
TensorId pick_tokens(Builder& b, const std::string& name, TensorId x, AxisLabels tokens) {
  const TensorId places = b.tensor(name + "_places", tokens, TensorRole::input, kTokenBytes);
  tokens.push_back(LayerAxis::hidden);
  const TensorId picked = b.activation(name, tokens);
  b.op(name, OperatorKind::gather, {x, places}, {picked}, {places}).over = {LayerAxis::sequence};
  return picked;
}

TensorId dense(Builder& b, const std::string& name, TensorId x) {
  AxisLabels result_axes = b.axes(x);
  result_axes.back() = LayerAxis::transform;
  const TensorId weight = b.parameter(name + "_weight", {LayerAxis::hidden, LayerAxis::transform});
  const TensorId y = b.project(name, x, weight, result_axes);
  const TensorId biased = b.add_bias(name + "_bias", y, b.parameter(name + "_bias", {LayerAxis::transform}));
  return b.elementwise(name + "_activation", {biased}, {biased});
}

// What a masked language model's head does before the output projection.
TensorId transform_tokens(Builder& b, TensorId x) {
  if (b.options().masked > 0) x = pick_tokens(b, "masked_tokens", x, {LayerAxis::batch, LayerAxis::masked});
  return b.normalize("transform_norm", dense(b, "transform", x), LayerAxis::transform);
}

// Whether the second sentence of a pair follows the first, by the first token.
void classify_pairs(Builder& b, TensorId x) {
  const TensorId pooled = dense(b, "pooler", pick_tokens(b, "first_token", x, {LayerAxis::batch}));
  const TensorId weight = b.parameter("pair_weight", {LayerAxis::transform, LayerAxis::pair});
  const TensorId classes = b.project("pair_logits", pooled, weight, {LayerAxis::batch, LayerAxis::pair});
  add_loss(b, "pair_", b.add("pair_bias", classes, b.parameter("pair_bias", {LayerAxis::pair})));
}

}  // namespace

OperatorGraph build_head_block(const ModelSpec& model, const BlockOptions& options) {
  Builder b("head", model, options);
  const TensorId x = b.input("head_input", kResidual);
  const TensorId normalized = model.post_norm ? x : b.normalize("final_norm", x);
  const bool masked = model.masked_share > 0;
  const TensorId read = masked ? transform_tokens(b, normalized) : normalized;
  const TensorId weight = b.parameter("output_weight", {LayerAxis::vocabulary, b.axes(read).back()});
  b.tie(weight, model.tied_embeddings);
  AxisLabels logit_axes = b.axes(read);
  logit_axes.back() = LayerAxis::vocabulary;
  TensorId logits = b.project("logits", read, weight, logit_axes);
  if (masked) logits = b.add_bias("logits_bias", logits, b.parameter("logits_bias", {LayerAxis::vocabulary}));
  add_loss(b, "", logits);
  if (model.sentence_pairs) classify_pairs(b, normalized);
  OperatorGraph graph = b.take();
  graph.inputs = {x};
  return graph;
}

}  // namespace mirfak
