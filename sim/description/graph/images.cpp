#include "graph/images.hpp"

#include <algorithm>

namespace mirfak {

namespace {

bool has_images(const OperatorGraph& graph, const AxisLabels& axes) {
  return std::any_of(axes.begin(), axes.end(), [&](Axis axis) { return graph.info(axis).of_images; });
}

// The axis of the batch, along which images of one sequence follow each other.
std::optional<Axis> batch_axis(const OperatorGraph& graph, const AxisLabels& axes) {
  const auto found =
      std::find_if(axes.begin(), axes.end(), [&](Axis axis) { return graph.divided_by(axis) == Parallelism::data; });
  return found == axes.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

void repeat_images(OperatorGraph& graph, double images) {
  for (Tensor& tensor : graph.tensors) {
    if (!has_images(graph, tensor.axes)) continue;
    const std::optional<Axis> batch = batch_axis(graph, tensor.axes);
    if (!batch) continue;
    tensor.repeats = images;
    tensor.repeated_along = batch;
  }
}

bool lacks_images(const OperatorGraph& graph, const Operator& op) {
  const auto lacks = [&](const Operand& operand) { return graph.tensor(operand.tensor).repeats == 0; };
  return std::any_of(op.inputs.begin(), op.inputs.end(), lacks) ||
         std::any_of(op.outputs.begin(), op.outputs.end(), lacks);
}

bool leaves_images(const OperatorGraph& graph) {
  return !graph.outputs.empty() && has_images(graph, graph.tensor(graph.outputs.front()).axes);
}

// The last gather is that among words; one before it takes patches from behind a class token.
std::int64_t tokens_of_image(const OperatorGraph& graph) {
  std::int64_t tokens = 0;
  for (const Operator& op : graph.operators) {
    if (op.kind != OperatorKind::gather || op.phase != Phase::forward) continue;
    const bool batched = batch_axis(graph, graph.tensor(op.inputs.front().tensor).axes).has_value();
    if (batched && graph.info(op.over.front()).of_images) tokens = graph.extent(op.over.front());
  }
  return tokens;
}

}  // namespace mirfak
