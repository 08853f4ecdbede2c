#pragma once

#include "graph/inline_list.hpp"

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A logical axis of tensors: its place in the table of axes of one graph (OperatorGraph::axes). Axes have names for
// people; what programs need to know of them are facts of the axis or of the operators that use it.
enum class Axis : std::uint8_t {};
inline constexpr std::size_t kMaxAxes = 64;  // of a graph
inline constexpr std::size_t kMaxRank = 15;  // axes of a tensor, labels of an operand

constexpr std::size_t index_of(Axis axis) { return static_cast<std::size_t>(axis); }

// Which parallelism divides an axis, where a strategy has it.
enum class Parallelism : std::uint8_t {
  none,
  data,           // sequences of a batch
  tokens,         // of a sequence: context parallelism everywhere, sequence parallelism on the residual stream
  tensor,         // heads, the inner size of an MLP, the vocabulary: as parameters have them
  experts,        // of a mixture
  expert_tensor,  // the inner size of an expert
};
const std::vector<std::string>& parallelism_names();  // in the order of Parallelism
std::string_view name_of(Parallelism parallelism);

struct AxisInfo {
  std::string name;
  std::int64_t extent = 0;
  Parallelism divided_by = Parallelism::none;
  std::optional<Axis> same_as;  // another label of that axis, as large and divided by itself: tokens of keys
};

using AxisLabels = InlineList<Axis, kMaxRank>;
using AxisExtents = std::vector<std::int64_t>;  // by axis

// Some axes of a graph.
class AxisSet {
 public:
  constexpr AxisSet() = default;
  constexpr explicit AxisSet(const AxisLabels& axes) {
    for (const Axis axis : axes) insert(axis);
  }
  constexpr bool contains(Axis axis) const { return (bits_ >> index_of(axis) & 1U) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr void insert(Axis axis) { bits_ |= std::uint64_t{1} << index_of(axis); }
  constexpr AxisSet without(AxisSet other) const { return AxisSet(bits_ & ~other.bits_); }
  friend constexpr bool operator==(AxisSet, AxisSet) = default;

 private:
  constexpr explicit AxisSet(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits_ = 0;
};

// A name that operators share and that recomputation, graph capture, adapters and fusion aim at ("core_attn"): its
// place in OperatorGraph::tags.
enum class Tag : std::uint8_t {};
inline constexpr std::size_t kMaxTags = 64;  // of a graph

class TagSet {
 public:
  constexpr bool contains(Tag tag) const { return (bits_ >> static_cast<unsigned>(tag) & 1U) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr void insert(Tag tag) { bits_ |= std::uint64_t{1} << static_cast<unsigned>(tag); }
  constexpr bool intersects(TagSet other) const { return (bits_ & other.bits_) != 0; }
  friend constexpr bool operator==(TagSet, TagSet) = default;

 private:
  std::uint64_t bits_ = 0;
};

using TensorId = std::int32_t;
using OperatorId = std::int32_t;

enum class TensorRole : std::uint8_t {
  input,           // enters the block: a stream, token ids
  parameter,       // trained unless frozen
  activation,      // produced by an operator of the block
  gradient,        // of an input or activation
  parameter_copy,  // a parameter in another format, made from it once an iteration (or in every forward pass)
  parameter_gradient,
};

struct Tensor {
  std::string name;
  AxisLabels axes;
  double bytes_per_element = 0;
  TensorRole role{};
  TensorId of = -1;     // gradients: the tensor it is the gradient of
  bool frozen = false;  // parameters that are not trained, inputs that are data: without gradient
  bool tied = false;    // parameters: another block holds the same one
  // Of parts of a sum: the kernel that makes them goes on once they are added, so every device that holds one needs the
  // sum (statistics of a loss whose classes are divided).
  bool added_for_kernel = false;
  bool passing = false;  // parameter copies: made in a backward pass for one product, and not kept
  // Share of its elements that exist: a token has one row for each expert it visits. Along `sparse_along`: of an axis
  // or several (tokens), one of them stands for all.
  double density = 1;
  std::optional<Axis> sparse_along;
};

enum class OperatorKind : std::uint8_t {
  einsum,         // contraction of two operands: GEMM, batched GEMM, or with a window convolution
  attention,      // fused (flash) attention: query, key, value -> context, log-sum-exp
  elementwise,    // any number of operands, one pass through memory; copies and concatenations too
  normalization,  // LayerNorm, RMSNorm
  softmax,
  gather,         // embedding: table, ids -> rows; contracts one axis of the table
  scatter,        // its gradient
  cross_entropy,  // logits -> per-token statistics (contracts the classes) and the softmax kept for backward
  reduction,      // combines its operand over the axes that the result lacks: a sum, or what `function` says
  dispatch,       // tokens -> a row for each expert that a token visits, sorted by expert
  combine,        // those rows -> tokens: the sum over a token's experts
  view,           // renames or splits axes; moves nothing
  scan,    // linear recurrence over tokens, computed by chunks: state-space duality (arXiv 2405.21060, section 6)
  custom,  // what CustomWork says
};
std::string_view name_of(OperatorKind kind);

// When an operator runs.
enum class Phase : std::uint8_t {
  forward,
  activation_gradient,
  weight_gradient,
  update,  // once an iteration, after the optimizer step
};

// The element that an operand's axis at `position` is read (or, in gradients, added to) at:
//   stride * step + dilation * tap + offset
// with labels `step` and `tap` of the operator. What lies outside is zero.
struct Window {
  std::uint8_t position = 0;
  Axis step{};
  Axis tap{};
  std::int32_t stride = 1;
  std::int32_t dilation = 1;
  std::int32_t offset = 0;
};

// A use of a tensor. `labels` names its axes for this operator, in the order of the tensor's axes: usually the
// tensor's own; attention reads keys whose tokens are the operator's axis of key tokens.
struct Operand {
  TensorId tensor = -1;
  AxisLabels labels;
  std::vector<Window> windows;  // of einsums, reductions and elementwise (depthwise) convolutions
};

// What a `custom` operator costs, undivided. A device that holds a share of the operator's labels does that share.
struct CustomWork {
  double flop = 0;
  double bytes = 0;  // moved through memory
  double gradient_flop = 0;
  double gradient_bytes = 0;
};

// One of several plain kernels that an operator runs as. Both figures are of each element of its largest operand.
// A kernel whose operands are broadcast, strided or of several types works out where each element lies and what it
// becomes: its instructions can take longer than its bytes (sim/cost/README.md).
struct PlainKernel {
  double bytes = 0;         // moved through memory
  double cycles = 0;        // of one multiprocessor, that its instructions take at least; 0: fewer than the bytes
  bool per_expert = false;  // launched for each expert of a device on its own
  friend bool operator==(const PlainKernel&, const PlainKernel&) = default;
};

// Documents of one length that sequences are packed with: tokens of each, and the share of all tokens that is in them.
struct DocumentLength {
  double tokens = 0;
  double share = 1;
  friend bool operator==(const DocumentLength&, const DocumentLength&) = default;
};

// `over`: the axes that an operator runs over, which have a meaning to its kind:
//
//   normalization, softmax   the normalized axes
//   attention                tokens of queries, tokens of keys, the axis that queries and keys are multiplied over
//   scan                     the tokens, the axis of the state
//   dispatch, combine        the experts; dispatch also those among which the weights choose
//   gather, scatter          the axis of the table that ids point into
//   elementwise, custom      axes that it needs whole: pairs of an axis are turned, the largest along one are chosen,
//                            the parts of an axis are put side by side
//   all others               nothing
struct Operator {
  std::string name;
  OperatorKind kind{};
  Phase phase = Phase::forward;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  AxisLabels over;
  // Forward operators: the tensors its gradient operators read, beside the gradient itself. These are what
  // backward keeps in memory (or recomputes). An einsum needs none here: it reads its other operand.
  std::vector<TensorId> saved;
  // Inputs whose gradient is the gradient of the first output itself (additions): no kernel, but a sum over the labels
  // that the input lacks.
  std::vector<TensorId> passes_gradient;
  // Elementwise: parameters are added to the first operand before anything else is done with it, so that their
  // gradients are sums of its gradient.
  bool adds_parameters = false;
  std::string function;  // elementwise and reduction: what it computes ("silu", "max"), for fusion rules
  // Elementwise: the number that `function` takes: what it scales by, adds (a negative operand where it does not pass
  // the gradient) or divides; the rate of dropout; how many route chooses.
  double number = 0;
  double passes = 1;           // memory-bound kinds: times the operands move through memory (unfused kernels)
  double gradient_passes = 0;  // ... those of the gradient's kernel; 0: as often
  // Memory-bound kinds that run as several kernels, where each is known: these instead of `passes`; and those of the
  // gradient.
  std::vector<PlainKernel> kernels;
  std::vector<PlainKernel> gradient_kernels;
  bool causal = false;      // attention over earlier tokens only: half the work, if the kernel skips it
  std::int64_t window = 0;  // attention over the last `window` tokens only, if the kernel skips others; 0: all
  // Attention: sequences are packed with documents that do not see each other, if the kernel skips others; empty: each
  // sequence is one.
  std::vector<DocumentLength> documents;
  std::int64_t chunk = 0;       // scan: tokens of a chunk
  CustomWork custom;            // custom
  TagSet tags;                  // its own; gradient operators have those of the operator they belong to
  bool linear = false;          // einsum: of a linear layer, as precision recipes quantize and frameworks overlap
  bool keeps_gathered = false;  // einsum: its first operand, where gathered, is kept so for the weight gradient
  bool low_precision = false;   // einsum: in the format of the precision recipe, not in that of activations
  bool auxiliary = false;       // issued by the call of another operator: casts
  bool part_of_kernel = false;  // done by the kernel of the operator before it: no kernel of its own
  bool has_gradient = true;     // false: no gradient passes through it (a choice, a comparison)
  // Gradient operators that compute more than their own labels and function say: the forward operator that they belong
  // to. Read what it saved and gradients of its results; its parameters are in memory as it reads them.
  OperatorId gradient_of = -1;
  // Divides its labels as that operator does where it reads or writes parameters, so that its inputs are brought to
  // where that operator wants them; -1: by its own operands.
  OperatorId divided_as = -1;
  double matmuls = 1;  // attention: products of size tokens x tokens x head_dim (2 forward, 5 backward)
};

// A block as operators over tensors, in an order in which they can run.
struct OperatorGraph {
  std::string name;
  std::vector<AxisInfo> axes;     // by Axis
  std::vector<std::string> tags;  // by Tag
  std::vector<Tensor> tensors;
  std::vector<Operator> operators;
  // Streams that other blocks write and read, the residual stream first: they have gradients. None enters a block that
  // starts from token ids, none leaves one that ends in the loss. A stream that passes through (what a decoder reads of
  // the encoder) is in both.
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::vector<TensorId>
      input_gradients;  // with gradient operators: of each of `inputs`, -1 where nothing depends on it

  // Error(internal) if the graph has that axis already, Error(input) if it has kMaxAxes.
  Axis add_axis(AxisInfo axis);
  std::optional<Axis> find_axis(std::string_view wanted) const;
  // Error(internal) if there is none.
  Axis axis(std::string_view wanted) const;
  // The tag of that name, added if it is new. Error(input) beyond kMaxTags.
  Tag tag(std::string_view wanted);
  std::optional<Tag> find_tag(std::string_view wanted) const;

  TensorId add_tensor(Tensor tensor);
  // Adds an operator whose operands' labels are their tensors' axes, and returns its id.
  OperatorId add_operator(std::string operator_name, OperatorKind kind, std::span<const TensorId> from,
                          std::span<const TensorId> to);

  const AxisInfo& info(Axis axis) const { return axes[index_of(axis)]; }
  std::int64_t extent(Axis axis) const { return axes[index_of(axis)].extent; }
  Parallelism divided_by(Axis axis) const { return axes[index_of(axis)].divided_by; }
  const Tensor& tensor(TensorId id) const { return tensors[static_cast<std::size_t>(id)]; }
  const Operator& op(OperatorId id) const { return operators[static_cast<std::size_t>(id)]; }
  bool is_stream(TensorId id) const;
  std::int64_t elements(TensorId tensor) const;
  double bytes(TensorId tensor) const;
};

// Whether an operator of this kind needs the axis undivided on every device.
bool must_be_whole(const Operator& op, Axis label);

// The roles of an einsum's labels: in both operands and the result (batch), in one operand and the result
// (rows from the first, columns from the second), in both operands only (contracted). A windowed axis counts as its
// step and its tap, so that the product of all extents is that of the multiplications (implicit GEMM).
struct EinsumLabels {
  AxisLabels batch;
  AxisLabels rows;
  AxisLabels columns;
  AxisLabels contracted;
};
EinsumLabels classify_labels(const Operator& einsum);

// The roles of the labels of fused attention, forward or gradient.
struct AttentionLabels {
  Axis queries{};  // tokens
  Axis keys{};
  AxisLabels batch;     // divided by data parallelism
  AxisLabels kv_heads;  // of queries, keys and values alike
  AxisLabels groups;    // of queries only: query heads that share a key
  Axis width{};         // of queries and keys
  AxisLabels value;     // of values, where it is not the width of keys
};
AttentionLabels classify_attention(const OperatorGraph& graph, const Operator& attention);

// The roles of the labels of a scan: x[batch tokens heads width], step[batch tokens heads], b and c[batch tokens groups
// state] -> y[like x]. Heads that b and c lack share them.
struct ScanLabels {
  Axis tokens{};
  Axis state{};
  AxisLabels batch;   // divided by data parallelism
  AxisLabels groups;  // of all operands
  AxisLabels heads;   // of x and step only
  AxisLabels width;   // of x only
};
ScanLabels classify_scan(const OperatorGraph& graph, const Operator& scan);

}  // namespace mirfak
