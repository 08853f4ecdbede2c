#include "graph/dequantization.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

class Widener {
 public:
  Widener(OperatorGraph graph, const NarrowWeights& weights) : graph_(std::move(graph)), weights_(weights) {
    for (const Operator& op : graph_.operators) {
      if (op.kind != OperatorKind::einsum || !op.linear || op.phase != Phase::forward) continue;
      const TensorId weight = op.inputs[1].tensor;
      const Tensor& tensor = graph_.tensor(weight);
      if (tensor.role != TensorRole::parameter || !tensor.frozen || tensor.tied) continue;
      wide_.try_emplace(weight, tensor.bytes_per_element);
    }
  }

  OperatorGraph run() {
    for (const auto& [weight, bytes] : wide_) {
      graph_.tensors[static_cast<std::size_t>(weight)].bytes_per_element = weights_.bytes;
    }
    const std::vector<Operator> operators = std::exchange(graph_.operators, {});
    std::vector<OperatorId> now;  // new ids of the operators, by old id
    for (Operator op : operators) {
      if (op.kind == OperatorKind::einsum) widen(op);
      now.push_back(static_cast<OperatorId>(graph_.operators.size()));
      if (op.gradient_of >= 0) op.gradient_of = now[static_cast<std::size_t>(op.gradient_of)];
      graph_.operators.push_back(std::move(op));
    }
    return std::move(graph_);
  }

 private:
  void widen(Operator& product) {
    for (Operand& operand : product.inputs) {
      const auto weight = wide_.find(operand.tensor);
      if (weight == wide_.end()) continue;
      Tensor copy = graph_.tensor(operand.tensor);
      copy.name += product.phase == Phase::forward ? "_wide" : "_wide_again";
      copy.bytes_per_element = weight->second;
      copy.role = TensorRole::parameter_copy;
      copy.passing = true;
      const TensorId wide = graph_.add_tensor(std::move(copy));
      const std::vector<TensorId> reads = {operand.tensor};
      const std::vector<TensorId> writes = {wide};
      const OperatorId id =
          graph_.add_operator("widen_" + graph_.tensor(operand.tensor).name, OperatorKind::elementwise, reads, writes);
      Operator& kernel = graph_.operators[static_cast<std::size_t>(id)];
      kernel.function = "cast";
      kernel.phase = product.phase;
      kernel.tags = product.tags;
      kernel.launches = kernel.gradient_launches = weights_.kernels;
      kernel.has_gradient = false;
      operand.tensor = wide;
    }
  }

  OperatorGraph graph_;
  const NarrowWeights& weights_;
  std::map<TensorId, double> wide_;  // bytes per element of a weight in products, by weight
};

}  // namespace

OperatorGraph with_narrow_weights(OperatorGraph graph, const NarrowWeights& weights) {
  return Widener(std::move(graph), weights).run();
}

}  // namespace mirfak
