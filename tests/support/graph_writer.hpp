#pragma once

#include "graph/backward.hpp"
#include "graph/operator_graph.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace mirfak::test {

// Writes small graphs: every tensor is 2 bytes an element.
struct GraphWriter {
  OperatorGraph graph;

  Axis axis(const char* name, std::int64_t extent, Parallelism divided_by = Parallelism::none) {
    return graph.add_axis({name, extent, divided_by, {}});
  }
  TensorId tensor(const char* name, TensorRole role, const AxisLabels& axes) {
    Tensor added;
    added.name = name;
    added.axes = axes;
    added.bytes_per_element = 2;
    added.role = role;
    return graph.add_tensor(added);
  }
  TensorId stream(const char* name, const AxisLabels& axes) {
    graph.inputs.push_back(tensor(name, TensorRole::input, axes));
    return graph.inputs.back();
  }
  TensorId parameter(const char* name, const AxisLabels& axes) { return tensor(name, TensorRole::parameter, axes); }
  TensorId activation(const char* name, const AxisLabels& axes) { return tensor(name, TensorRole::activation, axes); }
  Operator& op(const char* name, OperatorKind kind, const std::vector<TensorId>& inputs,
               const std::vector<TensorId>& outputs) {
    return graph.operators[static_cast<std::size_t>(graph.add_operator(name, kind, inputs, outputs))];
  }
};

inline const Operator* find(const OperatorGraph& graph, const std::string& name) {
  const auto found =
      std::find_if(graph.operators.begin(), graph.operators.end(), [&](const Operator& op) { return op.name == name; });
  return found == graph.operators.end() ? nullptr : &*found;
}

// The multiplications of an einsum: the product of the extents of all its labels.
inline double multiplications(const OperatorGraph& graph, const Operator& einsum) {
  const EinsumLabels labels = classify_labels(einsum);
  double product = 1;
  for (const AxisLabels* list : {&labels.batch, &labels.rows, &labels.columns, &labels.contracted}) {
    for (const Axis axis : *list) product *= static_cast<double>(graph.extent(axis));
  }
  return product;
}

}  // namespace mirfak::test
