#pragma once

#include "kernels.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mirfak::interpreter {

// The functions that the operators of a graph compute. A fused kernel computes those of the operators in it; they are
// found, by the names of what the kernel reads and leaves, in the graph as it was before fusion. Its gradients compute
// what lies inside of it again, from what is kept, and run backward through it.
class Meaning {
 public:
  // `graph` may have gradient operators. `unfused`: the forward graph before fusion (packed, where fusion packs), or
  // none where nothing was fused. Both must outlive this.
  explicit Meaning(const OperatorGraph& graph, const OperatorGraph* unfused = nullptr);

  // Returns the results of an operator within ranges of its labels. `inputs`: of its operands, then of `parameters_of`.
  std::vector<Piece> run(OperatorId id, const Ranges& ranges, const Pieces& inputs) const;
  // The parameters that a gradient operator finds in memory, though it does not list them, as its forward operator
  // reads them.
  std::vector<Operand> parameters_of(OperatorId id) const;
  // True if run() leaves parts that finish_cross_entropy completes.
  bool must_be_finished(OperatorId id) const;

 private:
  struct Parts {
    const OperatorGraph* graph = nullptr;
    std::vector<OperatorId> operators;
    std::map<TensorId, TensorId> known_as;  // from tensors of the whole graph to those of `graph`
  };
  using Environment = std::map<TensorId, Piece>;  // by tensors of Parts::graph

  Parts find_parts(OperatorId id, const OperatorGraph& unfused) const;
  std::vector<Piece> run_forward(OperatorId id, const Ranges& ranges, const Pieces& inputs) const;
  std::vector<Piece> run_gradient(OperatorId id, const Ranges& ranges, const Pieces& inputs) const;
  std::vector<Piece> run_back_through(const Parts& parts, const Operator& forward, const Operator& gradient,
                                      const Ranges& ranges, const Reverse& whole) const;
  Reverse reverse_of(OperatorId id, const Ranges& ranges, const Pieces& inputs) const;
  std::vector<std::size_t> differentiated_results(OperatorId forward, std::size_t gradients) const;

  const OperatorGraph& graph_;
  std::map<OperatorId, Parts> fused_;
};

}  // namespace mirfak::interpreter
