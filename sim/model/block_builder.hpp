// What the builders of blocks share: writes operators and tensors of a transformer. Private to the room.
#pragma once

#include "model/blocks.hpp"
#include "model/unfused_kernels.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

inline constexpr double kMaskBytes = 1;        // a dropout mask element
inline constexpr double kStatisticsBytes = 4;  // fp32
inline constexpr double kTokenBytes = 8;       // token ids are int64
inline constexpr double kWideBytes = 4;        // fp32

// The axes of a transformer's blocks.
struct LayerAxis {
  static constexpr Axis batch{0};        // sequences of a microbatch, over all data-parallel replicas
  static constexpr Axis sequence{1};     // tokens of a sequence
  static constexpr Axis kv_sequence{2};  // the same tokens as keys and values: a label only
  static constexpr Axis hidden{3};       // the residual stream
  static constexpr Axis kv_heads{4};     // groups of heads that share keys and values
  static constexpr Axis query_group{5};  // query heads of such a group
  static constexpr Axis qkv_group{6};    // query heads of such a group, its key and its value: the packed projection
  static constexpr Axis head_dim{7};
  static constexpr Axis ffn{8};
  static constexpr Axis gate{9};  // the two halves of a gated MLP
  static constexpr Axis vocabulary{10};
  static constexpr Axis experts{11};           // of a mixture
  static constexpr Axis candidates{12};        // the same experts as the router scores them: never divided
  static constexpr Axis expert_ffn{13};        // inner size of an expert
  static constexpr Axis query_rank{14};        // latent attention: what queries are made from
  static constexpr Axis key_value_rank{15};    // ... what keys and values are made from
  static constexpr Axis key_value_packed{16};  // ... that and the position part that keys share among heads
  static constexpr Axis position_dim{17};      // ... the position part
  static constexpr Axis content_value{18};     // ... of a head, the content part of its key and its value
  static constexpr Axis value_dim{19};         // of a head's value, where it is not head_dim
  static constexpr Axis merged{20};            // residual stream and embedding side by side: multi-token prediction
  static constexpr Axis masked{21};            // tokens of a sequence that a masked language model predicts
  static constexpr Axis transform{22};         // what the head of such a model makes of the hidden axis: as large
  static constexpr Axis pair{23};              // whether the second sentence of a pair follows the first
  static constexpr Axis low_rank{24};          // between the two products of a low-rank adapter
  static constexpr Axis divided_rank{25};      // ... as the first leaves it beside a layer divided by columns
};

class Builder {
 public:
  Builder(const char* name, const ModelSpec& model, const BlockOptions& options) : model_(model), options_(options) {
    graph_.name = name;
    add_axes();
  }

  void set(Axis axis, std::int64_t extent) { graph_.axes[index_of(axis)].extent = extent; }

  OperatorGraph take() { return std::move(graph_); }
  const ModelSpec& model() const { return model_; }
  const BlockOptions& options() const { return options_; }

  TensorId tensor(std::string name, const AxisLabels& axes, TensorRole role, double element_bytes, double density = 1) {
    Tensor added;
    added.name = std::move(name);
    added.axes = axes;
    added.bytes_per_element = element_bytes;
    added.role = role;
    added.density = density;
    if (density < 1) added.sparse_along = LayerAxis::sequence;
    return graph_.add_tensor(std::move(added));
  }
  TensorId input(std::string name, const AxisLabels& axes) {
    return tensor(std::move(name), axes, TensorRole::input, options_.element_bytes);
  }
  // Of the model itself: frozen when adapters are trained beside it.
  TensorId parameter(std::string name, const AxisLabels& axes) {
    const TensorId id = adapter_parameter(std::move(name), axes);
    graph_.tensors[static_cast<std::size_t>(id)].frozen = options_.adapters.rank > 0;
    return id;
  }
  TensorId adapter_parameter(std::string name, const AxisLabels& axes) {
    return tensor(std::move(name), axes, TensorRole::parameter, options_.element_bytes);
  }
  TensorId activation(std::string name, const AxisLabels& axes) {
    return tensor(std::move(name), axes, TensorRole::activation, options_.element_bytes);
  }

  Operator& op(std::string name, OperatorKind kind, const std::vector<TensorId>& inputs,
               const std::vector<TensorId>& outputs, std::vector<TensorId> saved = {}) {
    const OperatorId id = graph_.add_operator(std::move(name), kind, inputs, outputs);
    Operator& added = graph_.operators[static_cast<std::size_t>(id)];
    added.saved = std::move(saved);
    added.tags = branch_;
    return added;
  }

  // The operators from here on belong to this branch of a layer.
  void enter(const char* branch) {
    branch_ = {};
    branch_.insert(graph_.tag(branch));
  }

  std::size_t operator_count() const { return graph_.operators.size(); }
  // The operators from `first` on have a tag.
  void mark(const char* name, std::size_t first) {
    const Tag tag = graph_.tag(name);
    for (std::size_t i = first; i < graph_.operators.size(); ++i) graph_.operators[i].tags.insert(tag);
  }

  const AxisLabels& axes(TensorId id) const { return graph_.tensors[static_cast<std::size_t>(id)].axes; }
  std::string name(TensorId id) const { return graph_.tensors[static_cast<std::size_t>(id)].name; }

  void tie(TensorId id, bool tied) { graph_.tensors[static_cast<std::size_t>(id)].tied = tied; }

  // Reads `from` with the axis `is` called `as` in this operator.
  static void relabel(Operand& operand, Axis is, Axis as) {
    for (Axis& label : operand.labels) {
      if (label == is) label = as;
    }
  }

  // Over `axis`, the last one of x.
  TensorId normalize(const std::string& prefix, TensorId x, Axis axis = LayerAxis::hidden) {
    if (options_.wide_norm_inputs && options_.element_bytes < kWideBytes) x = widen(prefix + "_input", x);
    const TensorId weight = parameter(prefix + "_weight", {axis});
    const TensorId y = activation(prefix, axes(x));
    if (model_.normalization == Normalization::layer_norm) {
      const TensorId bias = parameter(prefix + "_bias", {axis});
      op(prefix, OperatorKind::normalization, {x, weight, bias}, {y}, {x}).over = {axis};
    } else {
      op(prefix, OperatorKind::normalization, {x, weight}, {y}, {x}).over = {axis};
    }
    return y;
  }

  TensorId project(const std::string& name, TensorId x, TensorId weight, const AxisLabels& result_axes) {
    if (options_.casts_weights)
      op("cast_" + this->name(weight), OperatorKind::elementwise, {weight}, {}).passes = kCast;
    const TensorId y = activation(name, result_axes);
    op(name, OperatorKind::einsum, {x, weight}, {y}).linear = true;
    return y;
  }

  // A linear layer, with a low-rank adapter beside the weight where there is one. As in NeMo's ParallelLinearAdapter,
  // tensor ranks divide the first product of an adapter by the rank where they divide the layer by columns (it reads
  // the residual stream alone), and the second one reads its result whole.
  TensorId project(const std::string& name, TensorId x, TensorId weight, const AxisLabels& result_axes, bool adapted) {
    const TensorId y = project(name, x, weight, result_axes);
    if (!adapted) return y;
    AxisLabels inward;
    AxisLabels outward = {LayerAxis::low_rank};
    for (const Axis axis : axes(weight)) {
      const bool kept = std::find(result_axes.begin(), result_axes.end(), axis) != result_axes.end();
      (kept ? outward : inward).push_back(axis);
    }
    const Axis rank = inward == AxisLabels{LayerAxis::hidden} ? LayerAxis::divided_rank : LayerAxis::low_rank;
    inward.insert(inward.begin(), rank);
    const TensorId source = options_.adapters.dropout > 0 ? dropout(name + "_adapter_dropout", x) : x;
    const TensorId low = project(name + "_adapter_in", source, adapter_parameter(name + "_adapter_in_weight", inward),
                                 {LayerAxis::batch, LayerAxis::sequence, rank});
    graph_.operators.back().linear = false;
    graph_.operators.back().keeps_gathered = rank == LayerAxis::divided_rank;
    const TensorId up =
        project(name + "_adapter_out", low, adapter_parameter(name + "_adapter_out_weight", outward), result_axes);
    graph_.operators.back().linear = false;
    relabel(graph_.operators.back().inputs[0], LayerAxis::divided_rank, LayerAxis::low_rank);
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
      if (bias) x = add_bias(name + "_bias", x, parameter(name + "_bias", {LayerAxis::hidden}));
      if (options_.dropout) x = dropout(name + "_dropout", x);
      return add(name, x, residual);
    }
    std::vector<TensorId> inputs = {x, residual};
    if (bias) inputs.push_back(parameter(name + "_bias", {LayerAxis::hidden}));
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
  // In the order of LayerAxis.
  void add_axes() {
    using P = Parallelism;
    const LatentAttention& latent = model_.latent;
    const MixtureOfExperts& mixture = model_.mixture;
    const std::int64_t query_group = model_.heads / options_.kv_heads;
    const std::int64_t rank = options_.adapters.rank;
    graph_.axes = {{"batch", options_.batch, P::data, {}},
                   {"sequence", options_.sequence, P::tokens, {}},
                   {"kv_sequence", options_.sequence, P::none, LayerAxis::sequence},
                   {"hidden", model_.hidden, P::none, {}},
                   {"kv_heads", options_.kv_heads, P::tensor, {}},
                   {"query_group", query_group, P::none, {}},
                   {"qkv_group", query_group + 2, P::none, {}},
                   {"head_dim", model_.head_dim, P::none, {}},
                   {"ffn", model_.ffn, P::tensor, {}},
                   {"gate", 2, P::none, {}},
                   {"vocabulary", options_.vocabulary, P::tensor, {}},
                   {"experts", mixture.experts, P::experts, {}},
                   {"candidates", mixture.experts, P::none, {}},
                   {"expert_ffn", mixture.ffn, P::expert_tensor, {}},
                   {"query_rank", latent.query_rank, P::none, {}},
                   {"key_value_rank", latent.key_value_rank, P::none, {}},
                   {"key_value_packed", latent.key_value_rank + latent.position_dim, P::none, {}},
                   {"position_dim", latent.position_dim, P::none, {}},
                   {"content_value", model_.head_dim - latent.position_dim + latent.value_dim, P::none, {}},
                   {"value_dim", latent.value_dim, P::none, {}},
                   {"merged", 2 * model_.hidden, P::none, {}},
                   {"masked", options_.masked, P::none, {}},
                   {"transform", model_.hidden, P::none, {}},
                   {"pair", 2, P::none, {}},
                   {"low_rank", rank, P::none, {}},
                   {"divided_rank", rank, P::tensor, {}}};
  }

  TagSet branch_;
  const ModelSpec& model_;
  const BlockOptions& options_;
  OperatorGraph graph_;
};

inline const AxisLabels kResidual = {LayerAxis::batch, LayerAxis::sequence, LayerAxis::hidden};

// Attention of a layer: the normalized residual stream -> the sum over heads, before its bias.
TensorId build_attention(Builder& b, TensorId x, const LayerKind& kind);
// A mixture of experts: the normalized residual stream -> the sum over a token's experts, shared ones included.
TensorId build_experts(Builder& b, TensorId x);
// An MLP without the bias of its second projection: the normalized residual stream -> residual stream. Its tensors and
// operators are called `prefix`_up and so on.
TensorId build_mlp(Builder& b, const std::string& prefix, TensorId x);

}  // namespace mirfak
