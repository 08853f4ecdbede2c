// Example, wq and wk with their biases:
//
//   q = x wq + bq;  k = x wk + bk     ->     y = x w + b;  q, k = split(y)
//
// Columns that all results have stay axes; the other columns lie side by side along a new axis.

#include "graph/packing.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

class Packing {
 public:
  Packing(OperatorGraph& graph, const std::string& name, Tag tag) : graph_(graph), name_(name), tag_(tag) {}

  void run() {
    for (std::size_t first = 0; first < graph_.operators.size(); ++first) {
      std::vector<std::size_t> alike;
      for (std::size_t i = first; i < graph_.operators.size(); ++i) {
        if (may_pack(graph_.operators[i]) && reads_as(graph_.operators[i], graph_.operators[first])) alike.push_back(i);
      }
      if (alike.size() > 1 && alike.front() == first) pack(alike);
    }
  }

 private:
  bool is_parameter(const Operand& operand) const {
    return graph_.tensor(operand.tensor).role == TensorRole::parameter;
  }

  bool may_pack(const Operator& op) const {
    return op.linear && op.tags.contains(tag_) && op.inputs[0].windows.empty() && is_parameter(op.inputs[1]);
  }

  bool reads_as(const Operator& a, const Operator& b) const {
    if (b.kind != OperatorKind::einsum || a.inputs[0].tensor != b.inputs[0].tensor) return false;
    const Tensor& weight = graph_.tensor(a.inputs[1].tensor);
    const Tensor& other = graph_.tensor(b.inputs[1].tensor);
    return a.inputs[0].labels == b.inputs[0].labels && classify_labels(a).contracted == classify_labels(b).contracted &&
           divided_columns(a) == divided_columns(b) && weight.frozen == other.frozen &&
           weight.bytes_per_element == other.bytes_per_element;
  }

  // Returns the columns that ranks may divide. They are not part of an axis on which columns of different products lie
  // side by side.
  AxisSet divided_columns(const Operator& op) const {
    AxisSet out;
    for (const Axis axis : classify_labels(op).columns) {
      if (graph_.divided_by(axis) != Parallelism::none) out.insert(axis);
    }
    return out;
  }

  // Returns the columns of the packed product: the columns that all products have, and one axis for the others side by
  // side.
  AxisLabels packed_columns(const std::vector<std::size_t>& alike) {
    AxisLabels shared = classify_labels(graph_.operators[alike.front()]).columns;
    for (const std::size_t i : alike) {
      const AxisSet columns(classify_labels(graph_.operators[i]).columns);
      AxisLabels common;
      for (const Axis axis : shared) {
        if (columns.contains(axis)) common.push_back(axis);
      }
      shared = common;
    }
    std::int64_t width = 0;
    for (const std::size_t i : alike) {
      std::int64_t own = 1;
      for (const Axis axis : classify_labels(graph_.operators[i]).columns) {
        if (!shared.contains(axis)) own *= graph_.extent(axis);
      }
      width += own;
    }
    std::string label = name_ + "_packed";
    while (graph_.find_axis(label)) label += "'";
    shared.push_back(graph_.add_axis({label, width, Parallelism::none, {}}));
    return shared;
  }

  // Returns the index of the operator that adds a bias with all columns to the product's result, if no other operator
  // reads the result; else the number of operators.
  std::size_t bias_of(const Operator& product) const {
    const TensorId result = product.outputs.front().tensor;
    std::size_t found = graph_.operators.size();
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
      const Operator& op = graph_.operators[i];
      for (const Operand& input : op.inputs) {
        if (input.tensor != result) continue;
        if (found != graph_.operators.size()) return graph_.operators.size();
        found = i;
      }
    }
    if (found == graph_.operators.size()) return found;
    const Operator& sum = graph_.operators[found];
    const EinsumLabels labels = classify_labels(product);
    AxisSet columns(labels.columns);
    for (const Axis axis : labels.batch) columns.insert(axis);
    const bool biases = sum.function == "add" && sum.inputs.size() == 2 && sum.inputs[0].tensor == result &&
                        is_parameter(sum.inputs[1]) && AxisSet(sum.inputs[1].labels) == columns;
    return biases ? found : graph_.operators.size();
  }

  // Returns the bias additions of all products, in order; empty if one product has none.
  std::vector<std::size_t> biases_of(const std::vector<std::size_t>& alike) const {
    std::vector<std::size_t> out;
    for (const std::size_t i : alike) {
      out.push_back(bias_of(graph_.operators[i]));
      if (out.back() == graph_.operators.size()) return {};
    }
    return out;
  }

  TensorId packed_like(TensorId like, const std::string& name, const AxisLabels& axes) {
    Tensor tensor = graph_.tensor(like);
    tensor.name = name;
    tensor.axes = axes;
    return graph_.add_tensor(std::move(tensor));
  }

  // Makes an operator that is not part of the graph.
  Operator made(const std::string& name, OperatorKind kind, const std::vector<TensorId>& inputs,
                const std::vector<TensorId>& outputs, TagSet tags) {
    const OperatorId id = graph_.add_operator(name, kind, inputs, outputs);
    Operator op = std::move(graph_.operators[static_cast<std::size_t>(id)]);
    graph_.operators.pop_back();
    op.tags = tags;
    return op;
  }

  void pack(const std::vector<std::size_t>& alike) {
    const Operator first = graph_.operators[alike.front()];
    const std::vector<std::size_t> biases = biases_of(alike);
    const EinsumLabels labels = classify_labels(first);
    const AxisLabels columns = packed_columns(alike);
    AxisLabels weight_axes = labels.batch;
    AxisLabels bias_axes = labels.batch;
    AxisLabels result_axes = labels.batch;
    for (const Axis axis : labels.contracted) weight_axes.push_back(axis);
    for (const Axis axis : labels.rows) result_axes.push_back(axis);
    for (const Axis axis : columns) {
      for (AxisLabels* axes : {&weight_axes, &bias_axes, &result_axes}) axes->push_back(axis);
    }

    std::vector<Operator> packed = {first};
    TensorId result = packed_like(first.outputs[0].tensor, name_, result_axes);
    packed[0].name = name_;
    packed[0].inputs[1] = {packed_like(first.inputs[1].tensor, name_ + "_weight", weight_axes), weight_axes, {}};
    packed[0].outputs[0] = {result, result_axes, {}};
    if (!biases.empty()) {
      const Operator& sum = graph_.operators[biases.front()];
      const TagSet tags = sum.tags;
      const TensorId bias = packed_like(sum.inputs[1].tensor, name_ + "_bias", bias_axes);
      const TensorId biased = packed_like(result, name_ + "_biased", result_axes);
      packed.push_back(made(name_ + "_bias", OperatorKind::elementwise, {result, bias}, {biased}, tags));
      packed.back().function = "add";
      packed.back().passes_gradient = {result, bias};
      packed.back().adds_parameters = true;
      result = biased;
    }
    const std::vector<std::size_t>& ends = biases.empty() ? alike : biases;
    std::vector<TensorId> parts;
    for (const std::size_t i : ends) parts.push_back(graph_.operators[i].outputs.front().tensor);
    packed.push_back(made("split_" + name_, OperatorKind::view, {result}, parts, first.tags));
    packed.back().function = "split";

    std::vector<std::size_t> replaced = alike;
    replaced.insert(replaced.end(), biases.begin(), biases.end());
    std::sort(replaced.rbegin(), replaced.rend());
    for (const std::size_t i : replaced) {
      graph_.operators.erase(graph_.operators.begin() + static_cast<std::ptrdiff_t>(i));
    }
    graph_.operators.insert(graph_.operators.begin() + static_cast<std::ptrdiff_t>(alike.front()),
                            std::make_move_iterator(packed.begin()), std::make_move_iterator(packed.end()));
  }

  OperatorGraph& graph_;
  const std::string& name_;
  Tag tag_;
};

}  // namespace

void pack_products(OperatorGraph& graph, const std::string& tag) {
  if (const std::optional<Tag> known = graph.find_tag(tag)) Packing(graph, tag, *known).run();
}

}  // namespace mirfak
