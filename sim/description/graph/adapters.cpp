#include "graph/adapters.hpp"

#include "graph/renaming.hpp"

#include <utility>

namespace mirfak {

namespace {

constexpr double kMaskBytes = 1;  // bytes per element of a dropout mask
constexpr double kWideBytes = 4;  // fp32
constexpr int kCasts = 2;         // of an activation and of its small weight, whose bytes are left out

// DoRA, bytes moved per element of the weight over those of the tensors that an operator reads and writes, and kernels.
// In 16 bits: the adapter's weight times its scale (4), plus the weight (6), of 2 read and 2 written. In fp32: casts of
// both weights (6 and 6), scale (8), sum (12), of 2 read and 4 written; the unit matrix is made in fp32 (4) and cast
// (6).
constexpr double kSumPasses = 10.0 / 4;
constexpr int kSumKernels = 2;
constexpr double kWideSumPasses = 32.0 / 6;
constexpr int kWideSumKernels = 4;
constexpr double kWideUnitPasses = 10.0 / 2;
// Backward of a product with one factor for each column: gradient times factor (2 operands), gradient times result (3),
// its sum over rows (1); the sums' kernel counts 2.
constexpr double kStretchGradientPasses = 4.0 / 3;

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
    return graph_.add_axis({unused_name(std::move(name)), rules_.rank, divided_by, {}});
  }

  std::string unused_name(std::string name) const {
    while (graph_.find_axis(name)) name += "'";
    return name;
  }

  // The kernels of PEFT's DoRA (src/peft/tuners/lora/dora.py, forward of DoraLinearLayer) for one weight.
  struct Decomposed {
    TensorId magnitude = -1;  // trained, one for each column
    TensorId norms = -1;      // of the columns of the adapted weight, which pass no gradient
    TensorId base = -1;       // x W of the same x as the adapter
  };

  // The adapter's weights multiply a unit matrix, so that they are gathered where they are sharded. The sum of both
  // weights, in the precision of the adapter, and its norms are kernels of their own.
  Decomposed decomposed(const Operator& product, TensorId x, TensorId in, TensorId out, Axis rank, Axis whole_rank) {
    const Tensor weight = graph_.tensor(product.inputs[1].tensor);
    const AxisLabels inward(graph_.tensor(in).axes.begin() + 1, graph_.tensor(in).axes.end());
    const AxisLabels outward(graph_.tensor(out).axes.begin() + 1, graph_.tensor(out).axes.end());
    std::int64_t rows = 1;
    for (const Axis axis : inward) rows *= graph_.extent(axis);
    const Axis unit = graph_.add_axis({unused_name(product.name + ".unit"), rows, Parallelism::none, {}});
    const bool wide = rules_.wide && weight.bytes_per_element < kWideBytes;
    const auto inner = [&](const std::string& name, AxisLabels axes, double bytes) {
      const TensorId id = made(product.name + name, axes, TensorRole::activation, weight);
      graph_.tensors[static_cast<std::size_t>(id)].bytes_per_element = bytes;
      return id;
    };
    const auto with_unit = [&](const AxisLabels& others) {
      AxisLabels axes = {unit};
      for (const Axis axis : others) axes.push_back(axis);
      return axes;
    };
    const auto frozen = [&](Operator& op) -> Operator& { return op.has_gradient = false, op; };

    const TensorId ones = inner(".adapter_unit", with_unit(inward), weight.bytes_per_element);
    Operator& fill = frozen(append(product.name + ".adapter_unit", OperatorKind::elementwise, {in}, {ones}, product));
    fill.function = "copy";
    if (wide) fill.passes = kWideUnitPasses;
    const TensorId low = inner(".adapter_unit_in", {unit, rank}, weight.bytes_per_element);
    frozen(append(product.name + ".adapter_unit_in", OperatorKind::einsum, {ones, in}, {low}, product));
    const TensorId delta = inner(".adapter_weight", with_unit(outward), weight.bytes_per_element);
    Operator& second =
        frozen(append(product.name + ".adapter_weight", OperatorKind::einsum, {low, out}, {delta}, product));
    second.inputs[0].labels.back() = whole_rank;
    const TensorId sum = inner(".adapted_weight", with_unit(outward), wide ? kWideBytes : weight.bytes_per_element);
    Operator& added =
        frozen(append(product.name + ".adapted_weight", OperatorKind::elementwise, {delta}, {sum}, product));
    added.function = "add";
    added.passes = wide ? kWideSumPasses : kSumPasses;
    added.launches = wide ? kWideSumKernels : kSumKernels;
    Decomposed of;
    of.norms = inner(".adapted_norms", outward, weight.bytes_per_element);
    frozen(append(product.name + ".adapted_norms", OperatorKind::reduction, {sum}, {of.norms}, product)).function =
        "norm";
    of.magnitude = made(product.name + ".adapter_magnitude", outward, TensorRole::parameter, weight);
    of.base = product.outputs[0].tensor;
    if (rules_.dropout > 0) of.base = multiplied_again(product, x);
    return of;
  }

  // x W for an x that dropout changed.
  TensorId multiplied_again(const Operator& product, TensorId x) {
    const TensorId y = made(product.name + ".adapter_base", product.outputs[0].labels, TensorRole::activation,
                            graph_.tensor(product.outputs[0].tensor));
    Operator& again =
        append(product.name + ".adapter_base", OperatorKind::einsum, {x, product.inputs[1].tensor}, {y}, product);
    again.inputs[0].labels = product.inputs[0].labels;
    again.inputs[1].labels = product.inputs[1].labels;
    again.outputs[0].labels = product.outputs[0].labels;
    again.linear = product.linear;
    again.keeps_gathered = product.keeps_gathered;
    return y;
  }

  // Returns `result` times the magnitude of its columns over their norms.
  TensorId stretched(TensorId result, const std::string& name, const Decomposed& of, const Operator& product) {
    const Tensor like = graph_.tensor(result);
    const TensorId y = made(product.name + name, like.axes, TensorRole::activation, like);
    Operator& op =
        append(product.name + name, OperatorKind::elementwise, {result, of.magnitude, of.norms}, {y}, product);
    op.function = "multiply";
    op.saved = {result, of.norms};
    op.gradient_passes = kStretchGradientPasses;
    return y;
  }

  // Returns (m / norm - 1) base + m / norm up.
  TensorId recomposed(TensorId up, const Decomposed& of, const Operator& product) {
    const TensorId base = stretched(of.base, ".adapter_base_stretched", of, product);
    const TensorId beside = scaled(stretched(up, ".adapter_stretched", of, product), product);
    const Tensor like = graph_.tensor(up);
    const TensorId sum = made(product.name + ".adapter_sum", like.axes, TensorRole::activation, like);
    Operator& added = append(product.name + ".adapter_sum", OperatorKind::elementwise, {base, beside}, {sum}, product);
    added.function = "add";
    added.passes_gradient = {base, beside};
    return sum;
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
    const TensorId beside = rules_.decomposed
                                ? recomposed(up, decomposed(product, x, in, out, rank, whole_rank), product)
                                : scaled(up, product);
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
