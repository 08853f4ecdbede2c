// Builders of the three blocks of a decoder-only transformer. They state the mathematics and which steps share
// a kernel; nothing here knows of devices. What backward keeps follows from the `saved` lists: GELU reads its
// input, dropout its mask, softmax its output, a normalization its input, a product its operands.

#include "model/blocks.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

constexpr double kMaskBytes = 1;        // a dropout mask element
constexpr double kStatisticsBytes = 4;  // fp32
constexpr double kTokenBytes = 8;       // token ids are int64

class Builder {
 public:
  Builder(const char* name, const ModelSpec& model, const BlockOptions& options) : model_(model), options_(options) {
    graph_.name = name;
    const auto set = [this](Axis axis, std::int64_t extent) {
      graph_.extents[static_cast<std::size_t>(axis)] = extent;
    };
    const std::int64_t query_group = model.heads / options.kv_heads;
    set(Axis::batch, options.batch);
    set(Axis::sequence, options.sequence);
    set(Axis::kv_sequence, options.sequence);
    set(Axis::hidden, model.hidden);
    set(Axis::kv_heads, options.kv_heads);
    set(Axis::query_group, query_group);
    set(Axis::qkv_group, query_group + 2);
    set(Axis::head_dim, model.head_dim);
    set(Axis::ffn, model.ffn);
    set(Axis::gate, 2);
    set(Axis::vocabulary, options.vocabulary);
    set(Axis::low_rank, options.adapters.rank);
  }

  OperatorGraph take() { return std::move(graph_); }
  const ModelSpec& model() const { return model_; }
  const BlockOptions& options() const { return options_; }

  TensorId tensor(std::string name, std::vector<Axis> axes, TensorRole role, double element_bytes) {
    return graph_.add_tensor({std::move(name), std::move(axes), element_bytes, role, -1, false});
  }
  TensorId input(std::string name, std::vector<Axis> axes) {
    return tensor(std::move(name), std::move(axes), TensorRole::input, options_.element_bytes);
  }
  // Of the model itself: frozen when adapters are trained beside it.
  TensorId parameter(std::string name, std::vector<Axis> axes) {
    const TensorId id = adapter_parameter(std::move(name), std::move(axes));
    graph_.tensors[static_cast<std::size_t>(id)].frozen = options_.adapters.rank > 0;
    return id;
  }
  TensorId adapter_parameter(std::string name, std::vector<Axis> axes) {
    return tensor(std::move(name), std::move(axes), TensorRole::parameter, options_.element_bytes);
  }
  TensorId activation(std::string name, std::vector<Axis> axes) {
    return tensor(std::move(name), std::move(axes), TensorRole::activation, options_.element_bytes);
  }

  Operator& op(std::string name, OperatorKind kind, const std::vector<TensorId>& inputs,
               const std::vector<TensorId>& outputs, std::vector<TensorId> saved = {}) {
    const OperatorId id = graph_.add_operator(std::move(name), kind, inputs, outputs);
    Operator& added = graph_.operators[static_cast<std::size_t>(id)];
    added.saved = std::move(saved);
    return added;
  }

  std::size_t operator_count() const { return graph_.operators.size(); }
  // The operators from `first` on belong to the attention core, which selective recomputation may drop.
  void mark_attention_core(std::size_t first) {
    for (std::size_t i = first; i < graph_.operators.size(); ++i) graph_.operators[i].attention_core = true;
  }

  const std::vector<Axis>& axes(TensorId id) const { return graph_.tensors[static_cast<std::size_t>(id)].axes; }
  std::string name(TensorId id) const { return graph_.tensors[static_cast<std::size_t>(id)].name; }

  // Reads `from` with the axis `is` called `as` in this operator.
  static void relabel(Operand& operand, Axis is, Axis as) {
    for (Axis& label : operand.labels) {
      if (label == is) label = as;
    }
  }

  TensorId normalize(const std::string& prefix, TensorId x) {
    const TensorId weight = parameter(prefix + "_weight", {Axis::hidden});
    const TensorId y = activation(prefix, axes(x));
    if (model_.normalization == Normalization::layer_norm) {
      const TensorId bias = parameter(prefix + "_bias", {Axis::hidden});
      op(prefix, OperatorKind::normalization, {x, weight, bias}, {y}, {x});
    } else {
      op(prefix, OperatorKind::normalization, {x, weight}, {y}, {x});
    }
    return y;
  }

  TensorId project(const std::string& name, TensorId x, TensorId weight, std::vector<Axis> result_axes) {
    const TensorId y = activation(name, std::move(result_axes));
    op(name, OperatorKind::einsum, {x, weight}, {y});
    return y;
  }

  // A linear layer, with a low-rank adapter beside the weight where there is one.
  TensorId project(const std::string& name, TensorId x, TensorId weight, const std::vector<Axis>& result_axes,
                   bool adapted) {
    const TensorId y = project(name, x, weight, result_axes);
    if (!adapted) return y;
    std::vector<Axis> inward = {Axis::low_rank};
    std::vector<Axis> outward = {Axis::low_rank};
    for (const Axis axis : axes(weight)) {
      const bool kept = std::find(result_axes.begin(), result_axes.end(), axis) != result_axes.end();
      (kept ? outward : inward).push_back(axis);
    }
    const TensorId source = options_.adapters.dropout > 0 ? dropout(name + "_adapter_dropout", x) : x;
    const TensorId low = project(name + "_adapter_in", source, adapter_parameter(name + "_adapter_in_weight", inward),
                                 {Axis::batch, Axis::sequence, Axis::low_rank});
    const TensorId up =
        project(name + "_adapter_out", low, adapter_parameter(name + "_adapter_out_weight", outward), result_axes);
    return add(name + "_adapter", y, up);
  }

  TensorId elementwise(const std::string& name, const std::vector<TensorId>& inputs,
                       const std::vector<TensorId>& saved) {
    const TensorId y = activation(name, axes(inputs.front()));
    op(name, OperatorKind::elementwise, inputs, {y}, saved);
    return y;
  }

  // A sum: gradients pass through unchanged.
  TensorId add(const std::string& name, TensorId x, TensorId other) {
    const TensorId y = activation(name, axes(x));
    op(name, OperatorKind::elementwise, {x, other}, {y}).passes_gradient = {x, other};
    return y;
  }

  TensorId dropout(const std::string& name, TensorId x) {
    const TensorId mask = tensor(name + "_mask", axes(x), TensorRole::activation, kMaskBytes);
    const TensorId y = activation(name, axes(x));
    op(name, OperatorKind::elementwise, {x}, {y, mask}, {mask});
    return y;
  }

  // residual + dropout(x + bias): one kernel, or one per step.
  TensorId add_residual(const std::string& name, TensorId x, TensorId residual) {
    const bool bias = model_.linear_bias;
    if (!options_.fused_bias_dropout_add) {
      if (bias) x = add(name + "_bias", x, parameter(name + "_bias", {Axis::hidden}));
      if (options_.dropout) x = dropout(name + "_dropout", x);
      return add(name, x, residual);
    }
    std::vector<TensorId> inputs = {x, residual};
    if (bias) inputs.push_back(parameter(name + "_bias", {Axis::hidden}));
    const TensorId y = activation(name, axes(residual));
    std::vector<TensorId> outputs = {y};
    std::vector<TensorId> saved;
    if (options_.dropout) {
      saved.push_back(tensor(name + "_mask", axes(residual), TensorRole::activation, kMaskBytes));
      outputs.push_back(saved.front());
    }
    Operator& added = op(name, OperatorKind::elementwise, inputs, outputs, saved);
    added.passes_gradient = {residual};
    if (!options_.dropout) added.passes_gradient.push_back(x);
    return y;
  }

 private:
  const ModelSpec& model_;
  const BlockOptions& options_;
  OperatorGraph graph_;
};

const std::vector<Axis> kResidual = {Axis::batch, Axis::sequence, Axis::hidden};
const std::vector<Axis> kScores = {Axis::batch, Axis::kv_heads, Axis::query_group, Axis::sequence, Axis::kv_sequence};

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
  const std::vector<Axis> packed_axes = {Axis::batch, Axis::sequence, Axis::kv_heads, Axis::qkv_group, Axis::head_dim};
  const TensorId weight = b.parameter("qkv_weight", {Axis::hidden, Axis::kv_heads, Axis::qkv_group, Axis::head_dim});
  TensorId packed = b.project("qkv_projection", x, weight, packed_axes, b.options().adapters.query_key_value);
  if (b.model().qkv_bias) {
    const TensorId bias = b.parameter("qkv_bias", {Axis::kv_heads, Axis::qkv_group, Axis::head_dim});
    packed = b.add("qkv_bias", packed, bias);
  }
  const std::vector<Axis> kv_axes = {Axis::batch, Axis::sequence, Axis::kv_heads, Axis::head_dim};
  QueryKeyValue out{};
  out.query = b.activation("query", {Axis::batch, Axis::sequence, Axis::kv_heads, Axis::query_group, Axis::head_dim});
  out.key = b.activation("key", kv_axes);
  out.value = b.activation("value", kv_axes);
  b.op("split_qkv", OperatorKind::view, {packed}, {out.query, out.key, out.value});
  if (b.model().position == PositionEncoding::rotary) {
    out.query = rotate(b, "rotary_query", out.query);
    out.key = rotate(b, "rotary_key", out.key);
  }
  return out;
}

TensorId fused_attention(Builder& b, const QueryKeyValue& qkv) {
  const TensorId context = b.activation("context", b.axes(qkv.query));
  const TensorId statistics =
      b.tensor("attention_logsumexp", {Axis::batch, Axis::sequence, Axis::kv_heads, Axis::query_group},
               TensorRole::activation, kStatisticsBytes);
  Operator& attention = b.op("attention", OperatorKind::attention, {qkv.query, qkv.key, qkv.value},
                             {context, statistics}, {qkv.query, qkv.key, qkv.value, context, statistics});
  Builder::relabel(attention.inputs[1], Axis::sequence, Axis::kv_sequence);
  Builder::relabel(attention.inputs[2], Axis::sequence, Axis::kv_sequence);
  attention.causal = true;
  attention.attention_core = true;
  attention.matmuls = 2;
  return context;
}

TensorId softmax_scores(Builder& b, TensorId scores) {
  if (!b.options().fused_softmax) {
    scores = b.elementwise("scale_scores", {scores}, {});
    scores = b.elementwise("mask_scores", {scores}, {});
  }
  const TensorId probabilities = b.activation("probabilities", kScores);
  b.op("softmax", OperatorKind::softmax, {scores}, {probabilities}, {probabilities});
  return b.options().dropout ? b.dropout("attention_dropout", probabilities) : probabilities;
}

TensorId unfused_attention(Builder& b, const QueryKeyValue& qkv) {
  const std::size_t first = b.operator_count();
  const TensorId scores = b.activation("scores", kScores);
  Operator& product = b.op("attention_scores", OperatorKind::einsum, {qkv.query, qkv.key}, {scores});
  Builder::relabel(product.inputs[1], Axis::sequence, Axis::kv_sequence);
  const TensorId probabilities = softmax_scores(b, scores);
  const TensorId context = b.activation("context", b.axes(qkv.query));
  Operator& mix = b.op("attention_context", OperatorKind::einsum, {probabilities, qkv.value}, {context});
  Builder::relabel(mix.inputs[1], Axis::sequence, Axis::kv_sequence);
  b.mark_attention_core(first);
  return context;
}

TensorId attention(Builder& b, TensorId x) {
  const QueryKeyValue qkv = project_qkv(b, x);
  return b.options().fused_attention ? fused_attention(b, qkv) : unfused_attention(b, qkv);
}

TensorId mlp_inner(Builder& b, TensorId x) {
  const bool gated = b.model().gated();
  std::vector<Axis> inner = {Axis::batch, Axis::sequence, Axis::ffn};
  std::vector<Axis> weight_axes = {Axis::hidden, Axis::ffn};
  if (gated) {
    inner.insert(inner.begin() + 2, Axis::gate);
    weight_axes.insert(weight_axes.begin() + 1, Axis::gate);
  }
  TensorId up = b.project("mlp_up", x, b.parameter("mlp_up_weight", weight_axes), inner, b.options().adapters.mlp_up);
  std::vector<TensorId> inputs = {up};
  if (b.model().linear_bias) {
    const TensorId bias = b.parameter("mlp_up_bias", std::vector<Axis>(inner.begin() + 2, inner.end()));
    if (b.options().fused_bias_activation) {
      inputs.push_back(bias);
    } else {
      up = b.add("mlp_up_bias", up, bias);
      inputs = {up};
    }
  }
  const TensorId y = b.activation("activation", {Axis::batch, Axis::sequence, Axis::ffn});
  b.op("activation", OperatorKind::elementwise, inputs, {y}, {up});
  return y;
}

}  // namespace

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

OperatorGraph build_layer_block(const ModelSpec& model, const BlockOptions& options, const LayerKind& /*kind*/) {
  Builder b("layer", model, options);
  const TensorId x = b.input("layer_input", kResidual);
  const TensorId context = attention(b, b.normalize("attention_norm", x));
  const TensorId output_weight =
      b.parameter("output_projection_weight", {Axis::kv_heads, Axis::query_group, Axis::head_dim, Axis::hidden});
  const TensorId attended =
      b.project("output_projection", context, output_weight, kResidual, options.adapters.attention_output);
  const TensorId middle = b.add_residual("attention_residual", attended, x);
  const TensorId inner = mlp_inner(b, b.normalize("mlp_norm", middle));
  const TensorId down_weight = b.parameter("mlp_down_weight", {Axis::ffn, Axis::hidden});
  const TensorId down = b.project("mlp_down", inner, down_weight, kResidual, options.adapters.mlp_down);
  const TensorId y = b.add_residual("mlp_residual", down, middle);

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
