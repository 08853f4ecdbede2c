// Linear layers in narrow formats. y = x w becomes, with q() the quantizing kernel,
//
//   forward     y  = q(x) q(w)
//   backward    dx = q(dy) q(w)^T          dw = q(x)^T q(dy)
//
// so each of x, w and dy is read twice, along different dimensions. If tensor cores transpose narrow operands on the
// fly and one scale holds for the whole tensor, one copy serves both reads. Otherwise a second copy is written: by the
// same kernel if it has the tensor at hand, or by a transposing kernel if the first copy was made elsewhere (in a
// normalization, or on another rank before the gather of sequence parallelism).
//
// Example, q(x) after a fused normalization on Hopper:  norm -> xq;  y = xq wq;  backward: xt = transpose(xq); dw = xt
// dyt. Kept for backward: xq, one byte per element where the graph in 16 bits keeps two.

#include "graph/quantization.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

// Copies of a tensor in the narrow format, for products along its rows and along its columns.
struct Copies {
  TensorId along_rows = -1;
  TensorId along_columns = -1;
};

class Quantizer {
 public:
  Quantizer(OperatorGraph graph, const Quantization& quantization)
      : graph_(std::move(graph)), quantization_(quantization) {}

  OperatorGraph run() {
    find_linear_layers();
    const std::vector<Operator> operators = std::exchange(graph_.operators, {});
    std::vector<OperatorId> now;  // new ids of the operators, by old id
    for (Operator op : operators) {
      const std::size_t first = graph_.operators.size();
      if (op.kind == OperatorKind::einsum && takes_part(op)) {
        quantize_operands(op);
      } else if (op.kind == OperatorKind::normalization && op.phase == Phase::forward) {
        fuse(op);
      }
      for (std::size_t i = first; i < graph_.operators.size(); ++i) graph_.operators[i].tags = op.tags;
      now.push_back(static_cast<OperatorId>(graph_.operators.size()));
      if (op.gradient_of >= 0) op.gradient_of = now[static_cast<std::size_t>(op.gradient_of)];
      graph_.operators.push_back(std::move(op));
      settle_layouts();
    }
    return std::move(graph_);
  }

 private:
  // Operands of the products of a linear layer.
  struct Linear {
    TensorId input = -1;
    TensorId weight = -1;
    bool input_normalized = false;  // the input comes from a normalization
    bool trained = false;           // has a weight gradient
    bool passes_on = false;         // has an activation gradient
  };

  const Tensor& tensor(TensorId id) const { return graph_.tensor(id); }

  void find_linear_layers() {
    for (const Operator& op : graph_.operators) {
      for (const Operand& input : op.inputs) ++readers_[input.tensor];
      if (op.kind == OperatorKind::normalization && op.phase == Phase::forward) {
        normalized_[op.outputs[0].tensor] = true;
      }
      if (!op.linear || op.phase != Phase::forward) continue;
      Linear linear{op.inputs[0].tensor, op.inputs[1].tensor, normalized_.contains(op.inputs[0].tensor), false, false};
      linears_[linear.weight] = linear;
    }
    for (const Operator& op : graph_.operators) {
      const Linear* linear = op.phase == Phase::forward ? nullptr : linear_of(op);
      if (linear == nullptr || stays_wide(op)) continue;
      Linear& found = linears_[linear->weight];
      (op.phase == Phase::weight_gradient ? found.trained : found.passes_on) = true;
    }
  }

  // Returns the linear layer that an einsum, forward or gradient, belongs to.
  const Linear* linear_of(const Operator& op) const {
    if (op.kind != OperatorKind::einsum) return nullptr;
    const bool of_weight = op.phase == Phase::weight_gradient;
    const auto found = linears_.find(of_weight ? tensor(op.outputs[0].tensor).of : op.inputs[1].tensor);
    return found == linears_.end() ? nullptr : &found->second;
  }
  bool stays_wide(const Operator& op) const {
    return op.phase == Phase::weight_gradient && quantization_.wide_weight_gradients;
  }
  bool takes_part(const Operator& op) const { return linear_of(op) != nullptr && !stays_wide(op); }

  // Replaces operands by quantized copies. Weight gradients read both operands along tokens, activation gradients read
  // the weight along its columns.
  void quantize_operands(Operator& op) {
    const Linear linear = *linear_of(op);
    op.low_precision = true;
    switch (op.phase) {
      case Phase::forward:
        op.inputs[0].tensor = activation(linear).along_rows;
        op.inputs[1].tensor = weight(linear).along_rows;
        break;
      case Phase::activation_gradient:
        op.inputs[0].tensor = gradient(op.inputs[0].tensor, linear).along_rows;
        op.inputs[1].tensor = along_columns(weight(linear));
        break;
      default:
        op.inputs[0].tensor = along_tokens(gradient(op.inputs[0].tensor, linear));
        op.inputs[1].tensor = along_tokens(activation(linear));
    }
  }

  // Adds a copy of a tensor. `moved`: the copy has the layout in which its kernel leaves it, not the layout of `of`.
  TensorId new_copy(TensorId of, const char* suffix, double element_bytes, bool moved) {
    Tensor copy = tensor(of);
    copy.name += suffix;
    copy.bytes_per_element = element_bytes;
    if (copy.role == TensorRole::parameter) copy.role = TensorRole::parameter_copy;
    if (copy.role == TensorRole::input) copy.role = TensorRole::activation;
    if (moved) copy.of = -1;
    return graph_.add_tensor(std::move(copy));
  }

  OperatorId append(std::string name, Phase phase, const std::vector<TensorId>& inputs,
                    const std::vector<TensorId>& outputs) {
    const OperatorId id = graph_.add_operator(std::move(name), OperatorKind::elementwise, inputs, outputs);
    Operator& added = graph_.operators[static_cast<std::size_t>(id)];
    added.phase = phase;
    added.auxiliary = true;
    return id;
  }

  // Adds kernels that write the wanted copies of `id`. Rows that an all-to-all brings to their experts travel in the
  // precision of activations and are quantized after they arrive.
  Copies quantize(TensorId id, Phase phase, double element_bytes, bool rows, bool columns) {
    const bool moved = tensor(id).density < 1;
    const std::string name = tensor(id).name;
    const auto kernel = [&](const std::string& does, const std::vector<TensorId>& reads,
                            const std::vector<TensorId>& writes) {
      const OperatorId made = append(does + name, phase, reads, writes);
      if (moved) unsettled_.push_back(made);
    };
    std::vector<TensorId> reads = {id};
    if (quantization_.finds_largest) {
      // The largest value is one number, which every element needs: no bytes.
      reads.push_back(new_copy(id, "_largest", 0, moved));
      kernel("largest_of_", {id}, {reads.back()});
    }
    Copies copies;
    std::vector<TensorId> writes;
    if (rows) writes.push_back(copies.along_rows = new_copy(id, "_quantized", element_bytes, moved));
    if (columns) writes.push_back(copies.along_columns = new_copy(id, "_quantized_columns", element_bytes, moved));
    if (quantization_.two_kernels && tensor(id).role != TensorRole::parameter) {
      if (rows) kernel("quantize_", reads, {copies.along_rows});
      if (columns) kernel("quantize_columns_of_", reads, {copies.along_columns});
    } else {
      kernel("quantize_", reads, writes);
    }
    return copies;
  }

  // Returns the copy along tokens. If it does not exist yet, the copy along rows is transposed where the product needs
  // it: after the gather.
  TensorId along_tokens(Copies& copies) {
    if (copies.along_columns >= 0) return copies.along_columns;
    if (!quantization_.second_copies) return copies.along_rows;
    const TensorId rows = copies.along_rows;
    copies.along_columns = new_copy(rows, "_transposed", tensor(rows).bytes_per_element, true);
    graph_.tensors[static_cast<std::size_t>(copies.along_columns)].role =
        TensorRole::gradient;  // lives in backward only
    unsettled_.push_back(
        append("transpose_" + tensor(rows).name, Phase::weight_gradient, {rows}, {copies.along_columns}));
    return copies.along_columns;
  }

  // Returns the copy along columns. The transpose of a frozen weight is not kept from pass to pass: it exists only as
  // long as its product needs it.
  TensorId along_columns(Copies& copies) {
    if (copies.along_columns >= 0) return copies.along_columns;
    const TensorId rows = copies.along_rows;
    Tensor transposed = tensor(rows);
    transposed.name += "_transposed";
    transposed.role = TensorRole::parameter_copy;
    transposed.passing = true;
    copies.along_columns = graph_.add_tensor(std::move(transposed));
    append("transpose_" + tensor(rows).name, Phase::activation_gradient, {rows}, {copies.along_columns});
    return copies.along_columns;
  }

  Copies& activation(const Linear& linear) {
    const auto [place, added] = copies_.try_emplace(linear.input);
    if (!added) return place->second;
    const bool later = quantization_.transposable && quantization_.gathers_tokens && linear.input_normalized;
    const bool columns = linear.trained && quantization_.second_copies && !later;
    return place->second = quantize(linear.input, Phase::forward, quantization_.element_bytes, true, columns);
  }

  // Returns the copies of a gradient. With sequence parallelism, linear layers that do not follow a normalization end
  // in the residual stream, which is divided over tokens, so their gradients are gathered.
  Copies& gradient(TensorId dy, const Linear& linear) {
    const auto [place, added] = copies_.try_emplace(dy);
    if (!added) return place->second;
    const bool later = quantization_.transposable && quantization_.gathers_tokens && !linear.input_normalized;
    const bool columns = linear.trained && quantization_.second_copies && !later;
    const bool rows = linear.passes_on || !columns;
    return place->second = quantize(dy, Phase::activation_gradient, quantization_.element_bytes, rows, columns);
  }

  Copies& weight(const Linear& linear) {
    const auto [place, added] = copies_.try_emplace(linear.weight);
    if (!added) return place->second;
    const bool once = quantization_.narrow_parameters && tensor(linear.weight).frozen && quantization_.transposable;
    const bool columns = linear.passes_on && quantization_.second_copies && !once;
    const Phase phase = quantization_.caches_parameters ? Phase::update : Phase::forward;
    Copies& copies = place->second;
    copies = quantization_.narrow_parameters
                 ? narrow(linear.weight, phase, columns)
                 : quantize(linear.weight, phase, quantization_.parameter_bytes, true, columns);
    if (copies.along_columns < 0 && !(once && quantization_.second_copies)) copies.along_columns = copies.along_rows;
    return copies;
  }

  // Returns the copies of a parameter that is kept in the narrow format. The optimizer writes the first copy, and only
  // the second one is missing. If the second copy cannot be made from the first, both are made from 16-bit values that
  // lie in the buffer of gradients.
  Copies narrow(TensorId weight, Phase phase, bool columns) {
    const double wide_bytes = tensor(weight).bytes_per_element;
    graph_.tensors[static_cast<std::size_t>(weight)].bytes_per_element = quantization_.parameter_bytes;
    Copies copies{weight, -1};
    if (columns) copies.along_columns = new_copy(weight, "_columns", quantization_.parameter_bytes, false);
    if (tensor(weight).frozen) return copies;  // the copy is made before training begins
    const std::string name = tensor(weight).name;
    if (quantization_.transposable) {
      if (columns) append("transpose_" + name, phase, {weight}, {copies.along_columns});
      return copies;
    }
    Tensor gathered = tensor(weight);
    gathered.name += "_gathered";
    gathered.bytes_per_element = wide_bytes;
    gathered.role = TensorRole::gradient;
    gathered.of = weight;
    std::vector<TensorId> writes = {weight};
    if (columns) writes.push_back(copies.along_columns);
    append("quantize_" + name, phase, {graph_.add_tensor(std::move(gathered))}, writes);
    return copies;
  }

  // Lets a normalization write the narrow copy if its only reader is one linear layer (forward and weight gradient).
  void fuse(const Operator& normalization) {
    if (!quantization_.fused_normalization) return;
    const TensorId y = normalization.outputs[0].tensor;
    int products = 0;
    for (const auto& [weight, linear] : linears_) {
      if (linear.input == y) products += linear.trained ? 2 : 1;
    }
    if (products == 0 || products != readers_[y]) return;
    Tensor& result = graph_.tensors[static_cast<std::size_t>(y)];
    result.name += "_quantized";
    result.bytes_per_element = quantization_.element_bytes;
    copies_[y].along_rows = y;
  }

  // Makes the kernels since the last product divide their work like the operator that was just appended.
  void settle_layouts() {
    const auto last = static_cast<OperatorId>(graph_.operators.size()) - 1;
    for (const OperatorId op : unsettled_) graph_.operators[static_cast<std::size_t>(op)].divided_as = last;
    unsettled_.clear();
  }

  OperatorGraph graph_;
  const Quantization& quantization_;
  std::map<TensorId, Linear> linears_;  // by weight
  std::map<TensorId, int> readers_;
  std::map<TensorId, bool> normalized_;  // results of normalizations
  std::map<TensorId, Copies> copies_;
  std::vector<OperatorId> unsettled_;  // kernels that run where the next product needs their results
};

}  // namespace

OperatorGraph with_quantized_products(OperatorGraph graph, const Quantization& quantization) {
  return Quantizer(std::move(graph), quantization).run();
}

}  // namespace mirfak
