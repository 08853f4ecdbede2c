#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// The named logical axes of tensors. An axis has one extent within a graph.
enum class Axis : std::uint8_t {
  batch,        // sequences of a microbatch, over all data-parallel replicas
  sequence,     // tokens of a sequence
  kv_sequence,  // the same tokens in their role as keys and values: a label only, no tensor is stored with it alone
  hidden,       // the residual stream
  kv_heads,     // groups of heads that share keys and values (= heads without grouped-query attention)
  query_group,  // query heads of such a group
  qkv_group,    // query heads of such a group, its key and its value: the packed projection
  head_dim,
  ffn,
  gate,  // the two halves of a gated MLP
  vocabulary,
  experts,           // of a mixture
  candidates,        // the same experts as the router scores them: never divided
  expert_ffn,        // inner size of an expert
  query_rank,        // latent attention: what queries are made from
  key_value_rank,    // ... what keys and values are made from
  key_value_packed,  // ... that and the position part that keys share among heads: one projection
  position_dim,      // ... the position part
  content_value,     // ... of a head, the content part of its key and its value: one projection
  value_dim,         // of a head's value, where it is not head_dim
  merged,            // residual stream and embedding side by side: multi-token prediction
  masked,            // tokens of a sequence that a masked language model predicts
  transform,         // what the head of such a model makes of the hidden axis: as large
  pair,              // the two sentences of a pair, or whether the second follows the first
  low_rank,          // between the two products of a low-rank adapter
  divided_rank,      // ... as the first leaves it beside a layer that tensor ranks divide by columns
};
inline constexpr std::size_t kAxes = 26;
std::string_view name_of(Axis axis);
constexpr bool of_adapter(Axis axis) { return axis == Axis::low_rank || axis == Axis::divided_rank; }

using AxisExtents = std::array<std::int64_t, kAxes>;

using TensorId = std::int32_t;
using OperatorId = std::int32_t;

enum class TensorRole : std::uint8_t {
  input,           // enters the block: the residual stream, token ids
  parameter,       // trained unless frozen
  activation,      // produced by an operator of the block
  gradient,        // of an input or activation
  parameter_copy,  // a parameter in another format, made from it once an iteration (or in every forward pass)
  parameter_gradient,
};

struct Tensor {
  std::string name;
  std::vector<Axis> axes;
  double bytes_per_element = 0;
  TensorRole role{};
  TensorId of = -1;      // gradients: the tensor it is the gradient of
  bool frozen = false;   // parameters: not trained, so without gradient
  double density = 1;    // share of its elements that exist: a token has one row for each expert it visits
  bool passing = false;  // parameter copies: made in a backward pass for one product, and not kept
};

enum class OperatorKind : std::uint8_t {
  einsum,         // contraction of two operands: GEMM or batched GEMM
  attention,      // fused (flash) attention: query, key, value -> context, log-sum-exp
  elementwise,    // any number of operands, one pass through memory
  normalization,  // LayerNorm, RMSNorm
  softmax,
  gather,         // embedding: table, ids -> rows; contracts the table's first axis
  scatter,        // its gradient
  cross_entropy,  // logits -> per-token statistics (contracts the vocabulary) and the softmax kept for backward
  reduction,      // sums its operand over the axes that the result lacks
  dispatch,       // tokens -> a row for each expert that a token visits, sorted by expert
  combine,        // those rows -> tokens: the sum over a token's experts
  view,           // renames or splits axes; moves nothing
};
std::string_view name_of(OperatorKind kind);

// Parts of a layer whose activations can be dropped and computed again one by one.
enum class Module : std::uint8_t {
  core_attention,        // scores, softmax, dropout, context
  layer_norm,            // the norms in front of attention and MLP
  latent_up_projection,  // latent attention: from latent vectors to heads
  expert_activation,     // the activation function of experts
  mlp,                   // the whole plain MLP
  experts,               // the whole mixture of experts, the exchange of rows included
};
inline constexpr std::size_t kModules = 6;
using ModuleSet = std::bitset<kModules>;

// When an operator runs.
enum class Phase : std::uint8_t {
  forward,
  activation_gradient,
  weight_gradient,
  update,  // once an iteration, after the optimizer step
};

// Which part of a transformer layer an operator, or the one it is the gradient of, belongs to.
enum class LayerPart : std::uint8_t {
  none,       // embedding, head
  attention,  // its normalization and residual sum included
  router,     // of a mixture of experts, with the normalization before it and shared experts
  mlp,        // dense; its normalization and residual sum too
  experts,    // dispatch, experts, combination, residual sum
};

// A use of a tensor. `labels` names its axes for this operator, in the order of the tensor's axes: usually the
// tensor's own names; attention reads keys whose `sequence` is the operator's `kv_sequence`.
struct Operand {
  TensorId tensor = -1;
  std::vector<Axis> labels;
};

struct Operator {
  std::string name;
  OperatorKind kind{};
  Phase phase = Phase::forward;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  // Forward operators: the tensors its gradient operators read, beside the gradient itself. These are what
  // backward keeps in memory (or recomputes). An einsum needs none here: it reads its other operand.
  std::vector<TensorId> saved;
  // Inputs whose gradient is the gradient of the first output itself (additions): no kernel.
  std::vector<TensorId> passes_gradient;
  double passes = 1;           // memory-bound kinds: times the operands move through memory (unfused kernels)
  double gradient_passes = 0;  // ... those of the gradient's kernel; 0: as often
  bool causal = false;         // attention over earlier tokens only: half the work, if the kernel skips it
  std::int64_t window = 0;     // attention over the last `window` tokens only, if the kernel skips the others; 0: all
  ModuleSet modules;           // that it is part of
  LayerPart part = LayerPart::none;
  bool low_precision = false;   // einsum: in the format of the precision recipe, not in that of activations
  bool auxiliary = false;       // issued by the call of another operator: casts
  bool part_of_kernel = false;  // done by the kernel of the operator before it: no kernel of its own
  // Divides its labels as that operator does where it reads or writes parameters, so that its inputs are brought to
  // where that operator wants them; -1: by its own operands.
  OperatorId divided_as = -1;
  double matmuls = 1;  // attention: products of size tokens x tokens x head_dim (2 forward, 5 backward)
};

// A block as operators over tensors, in an order in which they can run.
struct OperatorGraph {
  std::string name;
  AxisExtents extents{};
  std::vector<Tensor> tensors;
  std::vector<Operator> operators;
  TensorId input = -1;   // the residual stream that enters; -1: the block starts from token ids
  TensorId output = -1;  // the residual stream that leaves; -1: the block ends in the loss

  TensorId add_tensor(Tensor tensor);
  // Adds an operator whose operands' labels are their tensors' axes, and returns its id.
  OperatorId add_operator(std::string name, OperatorKind kind, std::span<const TensorId> inputs,
                          std::span<const TensorId> outputs);

  std::int64_t extent(Axis axis) const { return extents[static_cast<std::size_t>(axis)]; }
  const Tensor& tensor(TensorId id) const { return tensors[static_cast<std::size_t>(id)]; }
  const Operator& op(OperatorId id) const { return operators[static_cast<std::size_t>(id)]; }
  std::int64_t elements(TensorId tensor) const;
  double bytes(TensorId tensor) const;
};

// Some axes, each once.
class AxisList {
 public:
  void push_back(Axis axis) { axes_[size_++] = axis; }
  const Axis* begin() const { return axes_.data(); }
  const Axis* end() const { return axes_.data() + size_; }

 private:
  std::array<Axis, kAxes> axes_{};
  std::size_t size_ = 0;
};

// The roles of an einsum's labels: in both operands and the result (batch), in one operand and the result
// (rows from the first, columns from the second), in both operands only (contracted).
struct EinsumLabels {
  AxisList batch;
  AxisList rows;
  AxisList columns;
  AxisList contracted;
};
EinsumLabels classify_labels(const Operator& einsum);

}  // namespace mirfak
