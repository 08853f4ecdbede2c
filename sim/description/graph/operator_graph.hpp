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

// A logical axis of tensors: its index in the table of axes of one graph (OperatorGraph::axes). Names of axes are for
// people; programs use only properties of the axis and of the operators that use it.
enum class Axis : std::uint8_t {};
inline constexpr std::size_t kMaxAxes = 64;  // axes of a graph
inline constexpr std::size_t kMaxRank = 15;  // axes of a tensor, labels of an operand

constexpr std::size_t index_of(Axis axis) { return static_cast<std::size_t>(axis); }

// Parallelism that divides an axis, if a strategy has it.
enum class Parallelism : std::uint8_t {
  none,
  data,           // sequences of a batch
  tokens,         // tokens of a sequence: context parallelism everywhere, sequence parallelism on the residual stream
  tensor,         // heads, the inner size of an MLP, the vocabulary: axes of parameters
  experts,        // experts of a mixture
  expert_tensor,  // the inner size of an expert
};
const std::vector<std::string>& parallelism_names();  // in the order of Parallelism
std::string_view name_of(Parallelism parallelism);

struct AxisInfo {
  std::string name;
  std::int64_t extent = 0;
  Parallelism divided_by = Parallelism::none;
  std::optional<Axis> same_as;  // the axis that this one is another label of, with the same extent but divided by
                                // itself: tokens of keys
  bool of_images = false;       // its elements exist once for each image of a sequence: patches
};

using AxisLabels = InlineList<Axis, kMaxRank>;
using AxisExtents = std::vector<std::int64_t>;  // by axis

// A set of axes of a graph.
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

// A name that operators share and that recomputation, graph capture, adapters and fusion refer to ("core_attn"): its
// index in OperatorGraph::tags.
enum class Tag : std::uint8_t {};
inline constexpr std::size_t kMaxTags = 64;  // tags of a graph

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
  gradient,        // gradient of an input or activation
  parameter_copy,  // a parameter in another format, made from it once an iteration (or in every forward pass)
  parameter_gradient,
};

struct Tensor {
  std::string name;
  AxisLabels axes;
  double bytes_per_element = 0;
  TensorRole role{};
  TensorId of = -1;            // gradients: the tensor whose gradient this is
  bool frozen = false;         // not trained, or data, or made of such tensors alone: without a gradient
  bool tied = false;           // parameters: another block holds the same parameter
  bool beside_frozen = false;  // trained parameters: a frozen copy that nothing reads stays beside the parameter
  // True for parts of a sum if the kernel that makes the parts needs their sum to go on, so that every device that
  // holds a part needs the sum (statistics of a loss whose classes are divided).
  bool added_for_kernel = false;
  bool passing = false;  // parameter copies: made in a backward pass for one product, and not kept
  // Share of the elements that exist: a token has one row for each expert that it visits. `sparse_along` is the axis
  // along which elements are missing; if there are several such axes (tokens), one of them stands for all.
  double density = 1;
  std::optional<Axis> sparse_along;
  double room = 1;  // memory over that of the elements that exist: rows of experts that nothing fills take memory, too
  // Number of times that the tensor exists, one after the other along `repeated_along`: images of a sequence.
  double repeats = 1;
  std::optional<Axis> repeated_along;
  bool in_chunks = false;  // exists for one chunk of the rows at a time (OperatorGraph::chunks)
};

// Chunks of rows, which operators go through one after the other, all of them for one chunk before the next: the head
// and the loss, so that the logits of all tokens never exist at once. A chunk may go through the classes in tiles.
struct RowChunks {
  AxisLabels rows;            // the axes that are divided, which count the rows together
  std::int64_t size = 0;      // rows of a chunk, the last of which may have fewer; 0: there are no chunks
  AxisLabels classes;         // the axes of classes
  std::int64_t tile = 0;      // classes of a tile; 0: all
  double gradient_bytes = 0;  // moved per element of a weight's gradient to add that of a chunk to those before
  double weight_bytes = 0;    // moved per element of a weight to cast it in front of each chunk's product

  explicit operator bool() const { return size > 0; }
};

enum class OperatorKind : std::uint8_t {
  einsum,         // contraction of two operands: GEMM, batched GEMM, or with a window a convolution
  attention,      // fused (flash) attention: query, key, value -> context, log-sum-exp
  elementwise,    // any number of operands, one pass through memory; copies and concatenations too
  normalization,  // LayerNorm, RMSNorm
  softmax,
  gather,         // embedding: table, ids -> rows; contracts one axis of the table
  scatter,        // gradient of gather
  cross_entropy,  // logits -> per-token statistics (contracts the classes) and the softmax kept for backward
  reduction,  // combines its operand over the axes that the result lacks: a sum, or the operation that `function` names
  dispatch,   // tokens -> a row for each expert that a token visits, sorted by expert
  combine,    // rows of dispatch -> tokens: the sum over a token's experts
  view,       // renames or splits axes; moves nothing
  scan,       // linear recurrence over tokens, computed by chunks: state-space duality (arXiv 2405.21060, section 6)
  custom,     // work stated by CustomWork
};
std::string_view name_of(OperatorKind kind);

// Time at which an operator runs.
enum class Phase : std::uint8_t {
  forward,
  activation_gradient,
  weight_gradient,
  update,  // once an iteration, after the optimizer step
};

// Index of the element at which an operand's axis at `position` is read (or, in gradients, added to):
//   stride * step + dilation * tap + offset
// with labels `step` and `tap` of the operator. Elements outside the axis are zero.
struct Window {
  std::uint8_t position = 0;
  Axis step{};
  Axis tap{};
  std::int32_t stride = 1;
  std::int32_t dilation = 1;
  std::int32_t offset = 0;
};

// A use of a tensor. `labels` names the tensor's axes for this operator, in the order of the tensor's axes. Usually
// these are the tensor's own axes; attention reads keys whose tokens are the operator's axis of key tokens.
struct Operand {
  TensorId tensor = -1;
  AxisLabels labels;
  std::vector<Window> windows;  // for einsums, reductions and elementwise (depthwise) convolutions
};

// Cost of a `custom` operator, undivided. A device that holds a share of the operator's labels does that share of the
// work.
struct CustomWork {
  double flop = 0;
  double bytes = 0;  // moved through memory
  double gradient_flop = 0;
  double gradient_bytes = 0;
};

// One of several plain kernels that an operator runs as. `bytes` and `cycles` are per element of its largest operand. A
// kernel whose operands are broadcast, strided or of several types computes the position and conversion of each
// element: its instructions can take longer than its bytes (sim/lowering/cost/README.md).
struct PlainKernel {
  double bytes = 0;         // moved through memory
  double cycles = 0;        // least cycles of one multiprocessor for its instructions; 0: fewer than the bytes take
  bool per_expert = false;  // launched separately for each expert of a device
  friend bool operator==(const PlainKernel&, const PlainKernel&) = default;
};

// Documents of one length that sequences are packed with: tokens of each document, and the share of all tokens that lie
// in these documents.
struct DocumentLength {
  double tokens = 0;
  double share = 1;
  friend bool operator==(const DocumentLength&, const DocumentLength&) = default;
};

// An operator. `over`: the axes that the operator runs over, with a meaning that depends on its kind:
//
//   normalization, softmax   the normalized axes
//   attention                tokens of queries, tokens of keys, the axis that queries and keys are multiplied over
//   scan                     the tokens, the axis of the state
//   dispatch, combine        the experts; dispatch also those among which the weights choose
//   gather, scatter          the axis of the table that ids point into
//   elementwise, custom      axes that must be whole: pairs of an axis are turned, the largest along one are chosen,
//                            the parts of an axis are put side by side
//   all others               nothing
struct Operator {
  std::string name;
  OperatorKind kind{};
  Phase phase = Phase::forward;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
  AxisLabels over;
  // Forward operators: the tensors that the gradient operators read, in addition to the gradient itself. Backward keeps
  // these in memory (or recomputes them). An einsum lists none here: its gradients read the other operand.
  std::vector<TensorId> saved;
  // Inputs whose gradient is the gradient of the first output itself (additions): there is no kernel, only a sum over
  // the labels that the input lacks.
  std::vector<TensorId> passes_gradient;
  // Elementwise: parameters are added to the first operand before any other computation, so that gradients of
  // parameters are sums of the first operand's gradient.
  bool adds_parameters = false;
  std::string function;  // elementwise and reduction: the function ("silu", "max"), for fusion rules
  // Elementwise: the number that `function` takes: the factor, the summand (the operand is negated if it does not pass
  // the gradient) or the dividend; the rate of dropout; how many experts route chooses.
  double number = 0;
  double passes = 1;           // memory-bound kinds: times the operands move through memory (unfused kernels)
  double gradient_passes = 0;  // passes of the gradient's kernel; 0: as many as `passes`
  // Memory-bound kinds: kernels that the host issues one by one, whose traffic `passes` and `gradient_passes` add up.
  int launches = 1;
  int gradient_launches = 1;
  // Memory-bound operators that run as several known kernels: these kernels in place of `passes`, and those of the
  // gradient.
  std::vector<PlainKernel> kernels;
  std::vector<PlainKernel> gradient_kernels;
  bool causal = false;      // attention over earlier tokens only: half the work, if the kernel skips the rest
  std::int64_t window = 0;  // attention over the last `window` tokens only, if the kernel skips others; 0: all
  // Attention: sequences are packed with documents that do not see each other, if the kernel skips other documents;
  // empty: each sequence is one document.
  std::vector<DocumentLength> documents;
  std::int64_t chunk = 0;       // scan: tokens of a chunk
  CustomWork custom;            // custom
  TagSet tags;                  // own tags; gradient operators have the tags of the operator they belong to
  bool linear = false;          // einsum: part of a linear layer, as precision recipes quantize and frameworks overlap
  bool keeps_gathered = false;  // einsum: a gathered first operand is kept gathered for the weight gradient
  bool low_precision = false;   // einsum: runs in the format of the precision recipe, not in that of activations
  bool auxiliary = false;       // issued by the call of another operator, as casts are
  bool part_of_kernel = false;  // runs in the kernel of the operator before it: no kernel of its own
  bool in_chunks = false;       // runs once for each chunk of the rows (OperatorGraph::chunks)
  bool has_gradient = true;     // false: no gradient passes through it (a choice, a comparison)
  // The forward operator of a gradient operator whose work does not follow from its own labels and function; -1: none.
  // The gradient operator reads the tensors that the forward operator saved and the gradients of its results;
  // parameters are in memory as the forward operator reads them.
  OperatorId gradient_of = -1;
  // The operator whose parameters decide first how this operator divides its labels, so that inputs are brought to the
  // devices where that operator needs them; -1: this operator itself.
  OperatorId divided_as = -1;
  double matmuls = 1;  // attention: products of size tokens x tokens x head_dim (2 forward, 5 backward)
};

// A block as operators over tensors, in an order in which the operators can run.
struct OperatorGraph {
  std::string name;
  std::vector<AxisInfo> axes;     // by Axis
  std::vector<std::string> tags;  // by Tag
  std::vector<Tensor> tensors;
  std::vector<Operator> operators;
  // Streams that other blocks write and read, the residual stream first: streams have gradients. A block that starts
  // from token ids has no input stream, a block that ends in the loss has no output stream. A stream that passes
  // through (the encoder's output that a decoder reads) is in both lists.
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::vector<TensorId>
      input_gradients;  // with gradient operators: gradient of each of `inputs`; -1: nothing depends on it
  RowChunks chunks;     // of the operators and tensors that are in chunks

  // Throws Error(internal) if the graph already has that axis, Error(input) if it has kMaxAxes axes.
  Axis add_axis(AxisInfo axis);
  std::optional<Axis> find_axis(std::string_view wanted) const;
  // Throws Error(internal) if there is no such axis.
  Axis axis(std::string_view wanted) const;
  // Returns the tag with that name, added if it is new. Throws Error(input) beyond kMaxTags.
  Tag tag(std::string_view wanted);
  std::optional<Tag> find_tag(std::string_view wanted) const;

  TensorId add_tensor(Tensor tensor);
  // Adds an operator whose operands have the axes of their tensors as labels, and returns its id.
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

// True if the operator needs the axis undivided on every device.
bool must_be_whole(const Operator& op, Axis label);

// Roles of an einsum's labels: batch (in both operands and the result), rows (in the first operand and the result),
// columns (in the second operand and the result), contracted (in both operands only). A windowed axis counts as its
// step and its tap, so that the product of all extents is the number of multiplications (implicit GEMM).
struct EinsumLabels {
  AxisLabels batch;
  AxisLabels rows;
  AxisLabels columns;
  AxisLabels contracted;
};
EinsumLabels classify_labels(const Operator& einsum);

// Roles of the labels of fused attention, forward or gradient.
struct AttentionLabels {
  Axis queries{};  // tokens of queries; `keys`: tokens of keys
  Axis keys{};
  AxisLabels batch;     // divided by data parallelism
  AxisLabels kv_heads;  // in queries, keys and values
  AxisLabels groups;    // in queries only: query heads that share a key
  Axis width{};         // in queries and keys: the width of a head
  AxisLabels value;     // in values, if their width is not that of keys
};
AttentionLabels classify_attention(const OperatorGraph& graph, const Operator& attention);

// Roles of the labels of a scan: x[batch tokens heads width], step[batch tokens heads], b and c[batch tokens groups
// state] -> y[like x]. Heads, which b and c lack, share b and c.
struct ScanLabels {
  Axis tokens{};
  Axis state{};
  AxisLabels batch;   // divided by data parallelism
  AxisLabels groups;  // in all operands
  AxisLabels heads;   // in x and step only
  AxisLabels width;   // in x only
};
ScanLabels classify_scan(const OperatorGraph& graph, const Operator& scan);

}  // namespace mirfak
