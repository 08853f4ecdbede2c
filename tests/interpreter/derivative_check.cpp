#include "interpreter/derivative_check.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace mirfak::interpreter {

namespace {

constexpr double kStep = 1e-5;
constexpr double kTolerance = 1e-6;

bool is_differentiated(const OperatorGraph& graph, std::size_t id) {
  const Tensor& tensor = graph.tensors[id];
  if (tensor.role == TensorRole::parameter) return !tensor.frozen;
  return std::find(graph.inputs.begin(), graph.inputs.end(), static_cast<TensorId>(id)) != graph.inputs.end();
}

std::optional<Piece> gradient_of(const OperatorGraph& graph, const Values& values, TensorId id) {
  if (graph.tensor(id).role == TensorRole::parameter) return parameter_gradient(graph, values, id);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i] != id || graph.input_gradients[i] < 0) continue;
    return values[static_cast<std::size_t>(graph.input_gradients[i])];
  }
  return std::nullopt;
}

// The objective with one tensor moved along a direction.
double moved(const OperatorGraph& graph, const Meaning& meaning, Values values, std::size_t id,
             const Eigen::ArrayXd& direction) {
  values[id]->values += direction;
  return objective(graph, run(graph, meaning, std::move(values), true));
}

}  // namespace

void check_derivatives(const std::string& label, const OperatorGraph& graph, const Meaning& meaning) {
  CAPTURE(label);
  const Values entering = entering_values(graph);
  const Values values = run(graph, meaning, entering);
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    if (!is_differentiated(graph, id)) continue;
    const std::string name = graph.tensors[id].name;
    CAPTURE(name);
    Eigen::ArrayXd direction = entering[id]->values;
    for (Eigen::Index i = 0; i < direction.size(); ++i) {
      direction[i] = noise(name + " direction", static_cast<std::uint64_t>(i)) - 0.5;
    }
    const double difference = (moved(graph, meaning, entering, id, kStep * direction) -
                               moved(graph, meaning, entering, id, -kStep * direction)) /
                              (2 * kStep);
    const std::optional<Piece> gradient = gradient_of(graph, values, static_cast<TensorId>(id));
    const double found = gradient ? (gradient->values * direction).sum() : 0;
    CHECK(std::abs(found - difference) <= kTolerance * (1 + std::abs(difference)));
  }
}

}  // namespace mirfak::interpreter
