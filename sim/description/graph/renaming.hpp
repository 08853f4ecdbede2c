#pragma once

#include "graph/operator_graph.hpp"

#include <utility>
#include <vector>

namespace mirfak {

// Replacements of tensors: operators read the result that an inserted operator made from a tensor, instead of the
// tensor.
class Renaming {
 public:
  void replace(TensorId tensor, TensorId by) { pairs_.emplace_back(tensor, by); }

  TensorId of(TensorId id) const {
    for (const auto& [tensor, by] : pairs_) {
      if (tensor == id) return by;
    }
    return id;
  }

  // Replaces tensors that the operator reads, and that its gradients read or pass on.
  void apply(Operator& op) const {
    for (Operand& input : op.inputs) input.tensor = of(input.tensor);
    for (std::vector<TensorId>* ids : {&op.saved, &op.passes_gradient}) {
      for (TensorId& id : *ids) id = of(id);
    }
  }

 private:
  std::vector<std::pair<TensorId, TensorId>> pairs_;
};

}  // namespace mirfak
