#include "model/block_kernels.hpp"

#include "graph/renaming.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

constexpr double kWideBytes = 4;    // fp32
constexpr double kNarrowBytes = 1;  // 8 bits

// Passes of 0.5 x (1 + tanh(c (x + 0.044715 x^3))) with one kernel per operation: 18 tensors are moved where one kernel
// moves 2. Automatic differentiation moves 28 where one kernel moves 3.
constexpr double kChainedGelu = 18.0 / 2;
constexpr double kChainedGeluGradient = 28.0 / 3;
constexpr int kChainedGeluKernels = 8;
constexpr int kChainedGeluGradientKernels = 11;

// Passes of x / sqrt(mean(x^2)) with one kernel per operation: square, mean and quotient move 5 tensors where one
// kernel moves 2. Automatic differentiation moves 17 where one kernel moves 3: 2 for the gradient through the quotient,
// 4 for that of the root, 8 for mean and square (PyTorch's pow_backward is three kernels), 3 to add the two.
constexpr double kChainedRmsNorm = 5.0 / 2;
constexpr double kChainedRmsNormGradient = 17.0 / 3;
// PyTorch issues square, mean, sum with epsilon, root and product, and backward a product for each factor, a sum over
// the row, three kernels for the root, one for the mean, three for the square, and the sum of both gradients.
constexpr int kChainedRmsNormKernels = 5;
constexpr int kChainedRmsNormGradientKernels = 11;

// The gradients of a product's two factors are two kernels that read two tensors and write one, where one kernel would
// read three and write two.
constexpr double kSeparateProductGradient = 6.0 / 5;
constexpr int kSeparateProductGradientKernels = 2;

// The loss (Megatron-LM's vocab_parallel_cross_entropy): logits are cast to fp32 and then read or written by max,
// subtract, exp, sum and divide, 38 bytes per logit where one pass moves 6. The softmax is kept in fp32 for backward,
// which scales it in place and casts it: 14 bytes.
constexpr double kSeparateLoss = 38.0 / 6;
constexpr double kSeparateLossGradient = 14.0 / 6;

// A weight kept in fp32: 4 bytes read and 2 written, in units of the 2 that a weight has in products.
constexpr double kCast = 3;

// Rewrites the operators of a graph, some of them with additional operators before or after them.
class KernelWriter {
 public:
  KernelWriter(OperatorGraph graph, const BlockKernels& kernels) : graph_(std::move(graph)), kernels_(kernels) {
    narrow_ = graph_.find_tag("mlp_act");
    expert_bias_ = graph_.find_tag("expert_bias");
  }

  OperatorGraph run() {
    join_expert_biases();
    std::vector<Operator> before = std::exchange(graph_.operators, {});
    for (Operator& op : before) {
      copies_.apply(op);
      write(std::move(op));
    }
    return std::move(graph_);
  }

 private:
  void write(Operator op) {
    switch (op.kind) {
      case OperatorKind::normalization:
        return write_normalization(std::move(op));
      case OperatorKind::einsum:
        return write_product(std::move(op));
      case OperatorKind::dispatch:
        return write_dispatch(std::move(op));
      case OperatorKind::combine:
        return write_combine(std::move(op));
      case OperatorKind::cross_entropy:
        return write_loss(std::move(op));
      default:
        break;
    }
    if (op.function == "rotary" && !kernels_.fused_rotary) return write_rotary(op);
    if (kernels_.narrow_activation_input && narrow_ && op.tags.contains(*narrow_)) narrow_saved(op);
    graph_.operators.push_back(std::move(op));
  }

  Operator& append(const std::string& name, const std::vector<TensorId>& inputs, const std::vector<TensorId>& outputs,
                   TagSet tags) {
    const OperatorId id = graph_.add_operator(name, OperatorKind::elementwise, inputs, outputs);
    Operator& added = graph_.operators[static_cast<std::size_t>(id)];
    added.tags = tags;
    return added;
  }

  TensorId copy(TensorId of, const std::string& name, double bytes, TagSet tags) {
    Tensor tensor = graph_.tensor(of);
    tensor.name = name;
    tensor.role = TensorRole::activation;
    tensor.bytes_per_element = bytes;
    const TensorId made = graph_.add_tensor(std::move(tensor));
    append(name, {of}, {made}, tags).function = "copy";
    return made;
  }
  TensorId copy(TensorId of, const std::string& name, TagSet tags) {
    return copy(of, name, graph_.tensor(of).bytes_per_element, tags);
  }

  // Writes an RMS norm as a chain: cast to fp32, divide by the root mean square, cast back, multiply by the weight.
  void write_chained_norm(const Operator& op) {
    const TensorId x = op.inputs.front().tensor;
    const double bytes = graph_.tensor(x).bytes_per_element;
    const bool casts = bytes < kWideBytes;
    const TensorId wide = casts ? copy(x, op.name + "_wide", kWideBytes, op.tags) : x;
    const TensorId normal = copy(wide, op.name + "_normal", op.tags);
    Operator& quotient = graph_.operators.back();
    quotient.function = "divide";
    quotient.saved = {wide};
    quotient.passes = kChainedRmsNorm;
    quotient.gradient_passes = kChainedRmsNormGradient;
    quotient.launches = kChainedRmsNormKernels;
    quotient.gradient_launches = kChainedRmsNormGradientKernels;
    const TensorId narrow = casts ? copy(normal, op.name + "_narrow", bytes, op.tags) : normal;
    std::vector<TensorId> factors = {narrow};
    bool trained = false;
    for (std::size_t i = 1; i < op.inputs.size(); ++i) {
      factors.push_back(op.inputs[i].tensor);
      trained = trained || !graph_.tensor(op.inputs[i].tensor).frozen;
    }
    Operator& product = append(op.name, factors, {op.outputs.front().tensor}, op.tags);
    product.function = "multiply";
    product.saved = factors;
    if (trained) product.gradient_launches = kSeparateProductGradientKernels;
    product.adds_parameters = true;  // traffic of the weight's gradient is included in `gradient_passes`
  }

  void write_normalization(Operator op) {
    if (kernels_.chained_rms_norm && op.function == "rms_norm") return write_chained_norm(op);
    const TensorId x = op.inputs.front().tensor;
    if (!kernels_.norm_input_cast.empty() && graph_.tensor(x).bytes_per_element < kWideBytes) {
      const TensorId wide = copy(x, op.name + "_input", kWideBytes, op.tags);
      graph_.operators.back().kernels = kernels_.norm_input_cast;
      op.inputs.front().tensor = wide;
      std::replace(op.saved.begin(), op.saved.end(), x, wide);
    }
    graph_.operators.push_back(std::move(op));
  }

  void write_product(Operator op) {
    for (const Operand& input : op.inputs) {
      const Tensor& weight = graph_.tensor(input.tensor);
      if (!kernels_.casts_weights || weight.role != TensorRole::parameter) continue;
      Operator& cast = append("cast_" + weight.name, {input.tensor}, {}, op.tags);
      cast.function = "cast";
      cast.passes = kCast;
    }
    graph_.operators.push_back(std::move(op));
  }

  // Writes x cos + rotate_half(x) sin, as eager frameworks compute it.
  void write_rotary(const Operator& op) {
    const TensorId x = op.inputs.front().tensor;
    const TensorId half = copy(x, op.name + "_half", op.tags);
    const TensorId sine = copy(half, op.name + "_sin", op.tags);
    const TensorId cosine = copy(x, op.name + "_cos", op.tags);
    Operator& sum = append(op.name, {cosine, sine}, {op.outputs.front().tensor}, op.tags);
    sum.function = "add";
    sum.passes_gradient = {cosine, sine};
  }

  void narrow_saved(Operator& op) {
    for (TensorId& saved : op.saved) {
      const std::string name = graph_.tensor(saved).name + "_in_8_bits";
      saved = copy(saved, name, kNarrowBytes, op.tags);
    }
  }

  // Returns the passes of a sorting kernel: it reads the rows that have arrived, or the tokens themselves, and writes
  // rows; the kernel on the way back moves as much.
  double sorting_passes(TensorId rows) const {
    const Tensor& tensor = graph_.tensor(rows);
    const double per_token = tensor.density * static_cast<double>(graph_.extent(experts_));
    return (per_token + kernels_.copies_per_token) / (per_token + 1);
  }

  void write_dispatch(Operator op) {
    experts_ = op.over.front();
    const TensorId rows = op.outputs.front().tensor;
    op.passes = sorting_passes(rows);
    const TagSet tags = op.tags;
    graph_.operators.push_back(std::move(op));
    TensorId last = rows;
    if (kernels_.rows_sorted) last = copy(last, "sort_rows", tags);
    if (kernels_.rows_padded) last = copy(last, "pad_rows", tags);
    if (last != rows) copies_.replace(rows, last);
  }

  void write_combine(Operator op) {
    experts_ = op.over.front();
    TensorId& rows = op.inputs.front().tensor;
    if (kernels_.rows_padded) rows = copy(rows, "unpad_rows", op.tags);
    if (kernels_.rows_sorted) rows = copy(rows, "unsort_rows", op.tags);
    op.passes = sorting_passes(rows);
    graph_.operators.push_back(std::move(op));
  }

  // Joins the operators that weight biases and add them to the rows of experts into one operator, whatever kernels it
  // runs as.
  void join_expert_biases() {
    if (!expert_bias_) return;
    std::vector<Operator> left;
    TensorId bias = -1;
    for (Operator& op : graph_.operators) {
      const bool marked = op.tags.contains(*expert_bias_);
      if (marked && op.function == "multiply") {
        bias = op.inputs.front().tensor;
        continue;
      }
      if (marked && op.function == "add") price_expert_bias(op, bias);
      left.push_back(std::move(op));
    }
    graph_.operators = std::move(left);
  }

  void price_expert_bias(Operator& op, TensorId bias) {
    const TensorId rows = op.inputs.front().tensor;
    op.inputs[1] = {bias, graph_.tensor(bias).axes, {}};
    op.passes_gradient.clear();
    if (kernels_.expert_bias.empty()) op.passes_gradient = {rows};
    op.kernels = kernels_.expert_bias;
    op.gradient_kernels = kernels_.expert_bias_gradient;
  }

  // Writes the loss. Backward reads the softmax (the last result of cross entropy, after its statistics), or recomputes
  // it from the logits. A fused kernel writes the gradient over the logits, in their precision (Transformer Engine,
  // transformer_engine/pytorch/triton/cross_entropy.py; Liger, flash-attn).
  void write_loss(Operator op) {
    const TensorId logits = op.inputs.front().tensor;
    const double bytes = graph_.tensor(logits).bytes_per_element;
    if (kernels_.logit_metric_bytes > 0) {
      append(op.name + "_metrics", {logits}, {}, op.tags).passes = kernels_.logit_metric_bytes / bytes;
    }
    Tensor& softmax = graph_.tensors[static_cast<std::size_t>(op.outputs.back().tensor)];
    if (kernels_.loss_recomputes_softmax) {
      op.saved = {logits, op.outputs[1].tensor, op.outputs[2].tensor};
      op.outputs.pop_back();
    } else if (kernels_.fused_cross_entropy) {
      softmax.bytes_per_element = bytes;
    } else {
      op.passes = kSeparateLoss;
      op.gradient_passes = kSeparateLossGradient;
    }
    graph_.operators.push_back(std::move(op));
  }

  OperatorGraph graph_;
  const BlockKernels& kernels_;
  std::optional<Tag> narrow_;
  std::optional<Tag> expert_bias_;
  Axis experts_{};
  Renaming copies_;  // copies of rows, which all later readers of the rows read
};

}  // namespace

FusionRules with_plain_kernels(FusionRules rules, const BlockKernels& kernels) {
  // A clamp before an activation is a kernel of its own, unless a chain of the framework contains it.
  const auto others = std::stable_partition(rules.chains.begin(), rules.chains.end(),
                                            [](const FusedChain& chain) { return chain.words.front() == "clamp"; });
  std::vector<FusedChain> first(rules.chains.begin(), others);
  rules.chains.erase(rules.chains.begin(), others);
  first.push_back({{"clamp"}, 1, 0});
  // The activation of experts, which weights their rows, is one kernel everywhere.
  first.push_back({{"@moe_act", "@moe_act?", "@moe_act?"}, 1, 0});
  if (kernels.chained_gelu) {
    first.push_back({{"gelu"}, kChainedGelu, kChainedGeluGradient, kChainedGeluKernels, kChainedGeluGradientKernels});
  }
  rules.chains.insert(rules.chains.begin(), first.begin(), first.end());
  rules.chains.push_back({{"multiply"}, 1, kSeparateProductGradient, 1, kSeparateProductGradientKernels});
  return rules;
}

OperatorGraph with_block_kernels(OperatorGraph forward, const BlockKernels& kernels) {
  return KernelWriter(std::move(forward), kernels).run();
}

}  // namespace mirfak
