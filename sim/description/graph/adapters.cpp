#include "graph/adapters.hpp"

#include "graph/renaming.hpp"

#include <utility>

namespace mirfak {

namespace {

constexpr double kMaskBytes = 1;  // bytes per element of a dropout mask
constexpr double kWideBytes = 4;  // fp32
constexpr int kCasts = 2;  // of an activation, and of the weight beside it, which is small: its bytes are left out

// Adds the adapters of one graph: rewrites its operators, with those of adapters inserted.
class Adapting {
 public:
  Adapting(OperatorGraph graph, const AdapterRules& rules) : graph_(std::move(graph)), rules_(rules) {
    for (const std::string& tag : rules.tags) {
      if (const std::optional<Tag> known = graph_.find_tag(tag)) aimed_.insert(*known);
    }
  }

  OperatorGraph run() {
    for (Tensor& tensor : graph_.tensors) {
      if (tensor.role == TensorRole::parameter) tensor.frozen = true;
    }
    std::vector<Operator> before = std::exchange(graph_.operators, {});
    for (Operator& op : before) {
      sums_.apply(op);
      graph_.operators.push_back(std::move(op));
      if (is_aimed(graph_.operators.back())) adapt(Operator(graph_.operators.back()));
    }
    for (TensorId& output : graph_.outputs) output = sums_.of(output);
    return std::move(graph_);
  }

 private:
  bool is_aimed(const Operator& op) const {
    return op.kind == OperatorKind::einsum && op.tags.intersects(aimed_) &&
           graph_.tensor(op.inputs[1].tensor).role == TensorRole::parameter;
  }

  TensorId made(std::string name, const AxisLabels& axes, TensorRole role, const Tensor& like) {
    Tensor tensor;
    tensor.name = std::move(name);
    tensor.axes = axes;
    tensor.role = role;
    tensor.bytes_per_element = like.bytes_per_element;
    return graph_.add_tensor(std::move(tensor));
  }

  Operator& append(const std::string& name, OperatorKind kind, const std::vector<TensorId>& inputs,
                   const std::vector<TensorId>& outputs, const Operator& beside) {
    const OperatorId id = graph_.add_operator(name, kind, inputs, outputs);
    Operator& added = graph_.operators[static_cast<std::size_t>(id)];
    added.tags = beside.tags;
    return added;
  }

  // Appends a kernel that reads x and writes as many elements, each of `bytes`.
  Operator& copied(TensorId x, const std::string& name, double bytes, const Operator& beside) {
    const Tensor like = graph_.tensor(x);
    const TensorId y = made(name, like.axes, TensorRole::activation, like);
    graph_.tensors[static_cast<std::size_t>(y)].bytes_per_element = bytes;
    Operator& op = append(name, OperatorKind::elementwise, {x}, {y}, beside);
    op.function = "copy";
    return op;
  }

  // Returns what the first product reads: x, dropped out, and in between in fp32 if the adapter is.
  TensorId input_of(const Operator& product) {
    TensorId x = product.inputs[0].tensor;
    const double bytes = graph_.tensor(x).bytes_per_element;
    const bool casts = rules_.wide && bytes < kWideBytes;
    if (casts) x = copied(x, product.name + ".adapter_wide", kWideBytes, product).outputs.front().tensor;
    if (rules_.dropout > 0) x = dropped(x, product);
    if (!casts) return x;
    Operator& narrow = copied(x, product.name + ".adapter_narrow", bytes, product);
    narrow.launches = narrow.gradient_launches = kCasts;
    return narrow.outputs.front().tensor;
  }

  // Returns the result of the second product times its scale.
  TensorId scaled(TensorId up, const Operator& product) {
    if (!rules_.scales) return up;
    const bool casts = rules_.wide && graph_.tensor(up).bytes_per_element < kWideBytes;
    Operator& scale = copied(up, product.name + ".adapter_scale", graph_.tensor(up).bytes_per_element, product);
    scale.function = "scale";
    if (casts) scale.launches = scale.gradient_launches = kCasts;  // the second weight's
    return scale.outputs.front().tensor;
  }

  TensorId dropped(TensorId x, const Operator& product) {
    const Tensor like = graph_.tensor(x);
    const std::string name = product.name + ".adapter_dropout";
    const TensorId y = made(name, like.axes, TensorRole::activation, like);
    const TensorId mask = made(name + "_mask", like.axes, TensorRole::activation, like);
    graph_.tensors[static_cast<std::size_t>(mask)].bytes_per_element = kMaskBytes;
    Operator& op = append(name, OperatorKind::elementwise, {x}, {y, mask}, product);
    op.function = "dropout";
    op.number = rules_.dropout;
    op.saved = {mask};
    return y;
  }

  // Makes an axis with a new name. Several products of a block can have the same name: those of self-attention and of
  // cross-attention are packed alike.
  Axis rank_axis(std::string name, Parallelism divided_by) {
    while (graph_.find_axis(name)) name += "'";
    return graph_.add_axis({std::move(name), rules_.rank, divided_by, {}});
  }

  void adapt(const Operator& product) {
    const AxisLabels& result = product.outputs[0].labels;
    AxisLabels inward;
    AxisLabels outward;
    bool by_columns = true;
    for (const Axis axis : product.inputs[1].labels) {
      const bool column = result.contains(axis);
      (column ? outward : inward).push_back(axis);
      if (!column && graph_.divided_by(axis) != Parallelism::none) by_columns = false;
    }
    const Parallelism divided_by = by_columns ? Parallelism::tensor : Parallelism::none;
    const Axis rank = rank_axis(product.name + ".rank", divided_by);
    const Axis whole_rank = rank_axis(product.name + ".whole_rank", Parallelism::none);
    AxisLabels low_axes;
    for (const Axis axis : product.inputs[0].labels) {
      if (result.contains(axis)) low_axes.push_back(axis);
    }
    low_axes.push_back(rank);
    inward.insert(inward.begin(), rank);
    outward.insert(outward.begin(), whole_rank);

    const TensorId y = product.outputs[0].tensor;
    const Tensor weight = graph_.tensor(product.inputs[1].tensor);
    const Tensor like = graph_.tensor(y);
    const TensorId x = input_of(product);
    const TensorId in = made(product.name + ".adapter_in_weight", inward, TensorRole::parameter, weight);
    const TensorId low = made(product.name + ".adapter_in", low_axes, TensorRole::activation, like);
    append(product.name + ".adapter_in", OperatorKind::einsum, {x, in}, {low}, product).keeps_gathered = by_columns;
    const TensorId out = made(product.name + ".adapter_out_weight", outward, TensorRole::parameter, weight);
    const TensorId up = made(product.name + ".adapter_out", like.axes, TensorRole::activation, like);
    Operator& second = append(product.name + ".adapter_out", OperatorKind::einsum, {low, out}, {up}, product);
    second.inputs[0].labels.back() = whole_rank;
    const TensorId beside = scaled(up, product);
    const TensorId sum = made(product.name + ".adapted", like.axes, TensorRole::activation, like);
    Operator& added = append(product.name + ".adapted", OperatorKind::elementwise, {y, beside}, {sum}, product);
    added.function = "add";
    added.passes_gradient = {y, beside};
    sums_.replace(y, sum);
  }

  OperatorGraph graph_;
  const AdapterRules& rules_;
  TagSet aimed_;
  Renaming sums_;  // results of products, replaced by the sums with their adapters
};

}  // namespace

OperatorGraph with_adapters(OperatorGraph forward, const AdapterRules& rules) {
  return rules.rank == 0 ? std::move(forward) : Adapting(std::move(forward), rules).run();
}

}  // namespace mirfak
