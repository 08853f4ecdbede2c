// What the builders of blocks share: writes operators and tensors of a transformer. Private to the room.
#pragma once

#include "model/blocks.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

inline constexpr double kMaskBytes = 1;        // a dropout mask element
inline constexpr double kStatisticsBytes = 4;  // fp32
inline constexpr double kCast = 3;        // 4 bytes read and 2 written, in units of the 2 that a weight has in products
inline constexpr double kTokenBytes = 8;  // token ids are int64
inline constexpr double kWideBytes = 4;   // fp32

class Builder {
 public:
  Builder(const char* name, const ModelSpec& model, const BlockOptions& options) : model_(model), options_(options) {
    graph_.name = name;
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
    set(Axis::masked, options.masked);
    set(Axis::transform, model.hidden);
    set(Axis::pair, 2);
    set(Axis::low_rank, options.adapters.rank);
    set(Axis::divided_rank, options.adapters.rank);
    set_experts(model.mixture);
    set_latent_attention(model);
    set(Axis::merged, 2 * model.hidden);
  }

  void set(Axis axis, std::int64_t extent) { graph_.extents[static_cast<std::size_t>(axis)] = extent; }

  OperatorGraph take() { return std::move(graph_); }
  const ModelSpec& model() const { return model_; }
  const BlockOptions& options() const { return options_; }

  TensorId tensor(std::string name, std::vector<Axis> axes, TensorRole role, double element_bytes, double density = 1) {
    return graph_.add_tensor({std::move(name), std::move(axes), element_bytes, role, -1, false, density});
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
    added.part = part_;
    return added;
  }

  // The operators from here on belong to `part`.
  void enter(LayerPart part) { part_ = part; }

  std::size_t operator_count() const { return graph_.operators.size(); }
  // The operators from `first` on belong to a module, which recomputation may drop.
  void mark(Module module, std::size_t first) {
    for (std::size_t i = first; i < graph_.operators.size(); ++i) {
      graph_.operators[i].modules.set(static_cast<std::size_t>(module));
    }
  }

  const std::vector<Axis>& axes(TensorId id) const { return graph_.tensors[static_cast<std::size_t>(id)].axes; }
  std::string name(TensorId id) const { return graph_.tensors[static_cast<std::size_t>(id)].name; }

  // Reads `from` with the axis `is` called `as` in this operator.
  static void relabel(Operand& operand, Axis is, Axis as) {
    for (Axis& label : operand.labels) {
      if (label == is) label = as;
    }
  }

  // Over `axis`, the last one of x.
  TensorId normalize(const std::string& prefix, TensorId x, Axis axis = Axis::hidden) {
    if (options_.wide_norm_inputs && options_.element_bytes < kWideBytes) x = widen(prefix + "_input", x);
    const TensorId weight = parameter(prefix + "_weight", {axis});
    const TensorId y = activation(prefix, axes(x));
    if (model_.normalization == Normalization::layer_norm) {
      const TensorId bias = parameter(prefix + "_bias", {axis});
      op(prefix, OperatorKind::normalization, {x, weight, bias}, {y}, {x});
    } else {
      op(prefix, OperatorKind::normalization, {x, weight}, {y}, {x});
    }
    return y;
  }

  TensorId project(const std::string& name, TensorId x, TensorId weight, std::vector<Axis> result_axes) {
    if (options_.casts_weights)
      op("cast_" + this->name(weight), OperatorKind::elementwise, {weight}, {}).passes = kCast;
    const TensorId y = activation(name, std::move(result_axes));
    op(name, OperatorKind::einsum, {x, weight}, {y});
    return y;
  }

  // A linear layer, with a low-rank adapter beside the weight where there is one. As in NeMo's ParallelLinearAdapter,
  // tensor ranks divide the first product of an adapter by the rank where they divide the layer by columns (it reads
  // the residual stream alone), and the second one reads its result whole.
  TensorId project(const std::string& name, TensorId x, TensorId weight, const std::vector<Axis>& result_axes,
                   bool adapted) {
    const TensorId y = project(name, x, weight, result_axes);
    if (!adapted) return y;
    std::vector<Axis> inward;
    std::vector<Axis> outward = {Axis::low_rank};
    for (const Axis axis : axes(weight)) {
      const bool kept = std::find(result_axes.begin(), result_axes.end(), axis) != result_axes.end();
      (kept ? outward : inward).push_back(axis);
    }
    const Axis rank = inward == std::vector<Axis>{Axis::hidden} ? Axis::divided_rank : Axis::low_rank;
    inward.insert(inward.begin(), rank);
    const TensorId source = options_.adapters.dropout > 0 ? dropout(name + "_adapter_dropout", x) : x;
    const TensorId low = project(name + "_adapter_in", source, adapter_parameter(name + "_adapter_in_weight", inward),
                                 {Axis::batch, Axis::sequence, rank});
    const TensorId up =
        project(name + "_adapter_out", low, adapter_parameter(name + "_adapter_out_weight", outward), result_axes);
    relabel(graph_.operators.back().inputs[0], Axis::divided_rank, Axis::low_rank);
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

  // y + bias of a linear layer.
  TensorId add_bias(const std::string& name, TensorId y, TensorId bias) {
    const TensorId sum = add(name, y, bias);
    graph_.operators.back().part_of_kernel = options_.fused_linear_bias;
    return sum;
  }

  // An fp32 copy.
  TensorId widen(const std::string& name, TensorId x) {
    const TensorId y = tensor(name, axes(x), TensorRole::activation, kWideBytes);
    op(name, OperatorKind::elementwise, {x}, {y});
    return y;
  }

  TensorId dropout(const std::string& name, TensorId x) {
    const TensorId mask = tensor(name + "_mask", axes(x), TensorRole::activation, kMaskBytes);
    const TensorId y = activation(name, axes(x));
    op(name, OperatorKind::elementwise, {x}, {y, mask}, {mask});
    return y;
  }

  // residual + dropout(x [+ bias]): one kernel, or one per step.
  TensorId add_residual(const std::string& name, TensorId x, TensorId residual, bool bias) {
    if (!options_.fused_bias_dropout_add) {
      if (bias) x = add_bias(name + "_bias", x, parameter(name + "_bias", {Axis::hidden}));
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
  void set_experts(const MixtureOfExperts& mixture) {
    set(Axis::experts, mixture.experts);
    set(Axis::candidates, mixture.experts);
    set(Axis::expert_ffn, mixture.ffn);
  }
  void set_latent_attention(const ModelSpec& model) {
    const LatentAttention& latent = model.latent;
    set(Axis::query_rank, latent.query_rank);
    set(Axis::key_value_rank, latent.key_value_rank);
    set(Axis::key_value_packed, latent.key_value_rank + latent.position_dim);
    set(Axis::position_dim, latent.position_dim);
    set(Axis::content_value, model.head_dim - latent.position_dim + latent.value_dim);
    set(Axis::value_dim, latent.value_dim);
  }

  LayerPart part_ = LayerPart::none;
  const ModelSpec& model_;
  const BlockOptions& options_;
  OperatorGraph graph_;
};

inline const std::vector<Axis> kResidual = {Axis::batch, Axis::sequence, Axis::hidden};

// Attention of a layer: the normalized residual stream -> the sum over heads, before its bias.
TensorId build_attention(Builder& b, TensorId x, const LayerKind& kind);
// A mixture of experts: the normalized residual stream -> the sum over a token's experts, shared ones included.
TensorId build_experts(Builder& b, TensorId x);
// An MLP without the bias of its second projection: the normalized residual stream -> residual stream. Its tensors and
// operators are called `prefix`_up and so on.
TensorId build_mlp(Builder& b, const std::string& prefix, TensorId x);

}  // namespace mirfak
