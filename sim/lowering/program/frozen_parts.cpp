// Parts of a model that are not trained. As in automatic differentiation, what is made of frozen tensors alone has no
// gradient: a frozen tower has no backward pass, and the projector after it no gradient of its input.

#include "program/frozen_parts.hpp"

#include "graph/images.hpp"

#include <algorithm>
#include <set>

namespace mirfak {

namespace {

bool has_images(const OperatorGraph& graph, TensorId tensor) {
  const AxisLabels& axes = graph.tensor(tensor).axes;
  return std::any_of(axes.begin(), axes.end(), [&](Axis axis) { return graph.info(axis).of_images; });
}

// True if the block's input is a stream of images.
bool reads_images(const OperatorGraph& graph) {
  return !graph.inputs.empty() && has_images(graph, graph.inputs.front());
}

// Returns the parameters that operators on images read.
std::set<TensorId> parameters_of_images(const OperatorGraph& graph) {
  std::set<TensorId> out;
  for (const Operator& op : graph.operators) {
    const bool of_images = std::any_of(op.outputs.begin(), op.outputs.end(),
                                       [&](const Operand& result) { return has_images(graph, result.tensor); });
    for (const Operand& input : op.inputs) {
      if (of_images && graph.tensor(input.tensor).role == TensorRole::parameter) out.insert(input.tensor);
    }
  }
  return out;
}

// True for a table with a row for each word, which tensor ranks divide; positions are whole on each rank.
bool has_words(const OperatorGraph& graph, const Tensor& tensor) {
  return std::any_of(tensor.axes.begin(), tensor.axes.end(),
                     [&](Axis axis) { return graph.info(axis).divided_by == Parallelism::tensor; });
}

// Returns the parameters that products read.
std::set<TensorId> matrices_of(const OperatorGraph& graph) {
  std::set<TensorId> out;
  for (const Operator& op : graph.operators) {
    for (const Operand& input : op.inputs) {
      const bool matrix = op.kind == OperatorKind::einsum && graph.tensor(input.tensor).role == TensorRole::parameter;
      if (matrix) out.insert(input.tensor);
    }
  }
  return out;
}

void freeze_parameters(OperatorGraph& graph, const FrozenParts& parts) {
  const bool join = reads_images(graph) && !leaves_images(graph);
  const std::set<TensorId> of_images = join ? parameters_of_images(graph) : std::set<TensorId>();
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    Tensor& tensor = graph.tensors[id];
    if (tensor.role != TensorRole::parameter) continue;
    const bool projector = of_images.contains(static_cast<TensorId>(id));
    tensor.frozen |= leaves_images(graph) ? parts.tower : projector ? parts.projector : parts.decoder;
  }
}

}  // namespace

bool is_frozen(const OperatorGraph& graph, const FrozenParts& parts) {
  if (leaves_images(graph)) return parts.tower;
  return parts.decoder && (!reads_images(graph) || parts.projector);
}

void thaw(OperatorGraph& graph, const WholeParts& whole, BlockPlace place) {
  if (!whole.any()) return;
  const bool join = reads_images(graph) && !leaves_images(graph);
  const std::set<TensorId> of_images = join ? parameters_of_images(graph) : std::set<TensorId>();
  const std::set<TensorId> matrices = place == BlockPlace::head ? matrices_of(graph) : std::set<TensorId>();
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    Tensor& tensor = graph.tensors[id];
    const auto of = static_cast<TensorId>(id);
    if (tensor.role != TensorRole::parameter) continue;
    const bool projector = of_images.contains(of);
    if (projector && whole.projector) tensor.frozen = false;
    const bool words = whole.embedding && place == BlockPlace::words && has_words(graph, tensor);
    if (!words && !(whole.head && matrices.contains(of))) continue;
    tensor.frozen = false;
    tensor.beside_frozen = true;
  }
}

void freeze_all(OperatorGraph& graph) {
  for (Tensor& tensor : graph.tensors) tensor.frozen = true;
}

void freeze(OperatorGraph& graph, const FrozenParts& parts) {
  if (!parts.any()) return;
  freeze_parameters(graph, parts);
  for (const TensorId input : graph.inputs) {
    if (parts.tower && has_images(graph, input)) graph.tensors[static_cast<std::size_t>(input)].frozen = true;
  }
  for (const Operator& op : graph.operators) {
    const bool frozen = std::all_of(op.inputs.begin(), op.inputs.end(), [&](const Operand& input) {
      const Tensor& tensor = graph.tensor(input.tensor);
      const bool stream = std::find(graph.inputs.begin(), graph.inputs.end(), input.tensor) != graph.inputs.end();
      return tensor.frozen || (tensor.role == TensorRole::input && !stream);
    });
    if (!frozen) continue;
    for (const Operand& result : op.outputs) graph.tensors[static_cast<std::size_t>(result.tensor)].frozen = true;
  }
}

}  // namespace mirfak
