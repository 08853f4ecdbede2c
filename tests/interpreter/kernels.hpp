#pragma once

#include "piece.hpp"

#include <span>
#include <vector>

namespace mirfak::interpreter {

// The kernels: what an operator makes of pieces of its operands, within ranges of its labels. Slow loops over places,
// written after the definitions; no kernel knows of devices. Where a range is a part of a label that is summed over,
// results are that part of the sum.

using Pieces = std::vector<const Piece*>;  // of operands in their order; null: not there

// The results of an operator by its own labels, kind and function.
std::vector<Piece> compute(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Pieces& inputs);

// Backward through a forward operator: what is there of its operands and results, and the gradients of its results.
struct Reverse {
  const OperatorGraph& graph;
  const Operator& op;
  const Ranges& ranges;
  Pieces inputs;
  Pieces outputs;
  Pieces output_gradients;  // the loss of cross entropy has none: it is one everywhere
};
// The gradient of one operand, summed over the places of labels that it lacks. Error(internal) where it needs what is
// not there.
Piece gradient_of_input(const Reverse& reverse, std::size_t operand);
// Returns the share of each step of each token in the gradient of a scan's decay: it lies as the steps do.
Piece gradient_of_decay(const Reverse& scan);

// Attention of all queries to some of the keys leaves a result and the logarithm of its sum of exponentials. Two such
// results become one.
void join_attention(const OperatorGraph& graph, const Operator& attention, const Ranges& ranges,
                    std::vector<Piece>& results, const std::vector<Piece>& more);

// Cross entropy over a part of the classes leaves parts: minus the target's logit, the largest logit, the sum of
// exponentials, the exponentials. Where the first three are those of all classes, this makes loss and softmax of them.
void finish_cross_entropy(const OperatorGraph& graph, const Operator& op, const Ranges& ranges,
                          std::vector<Piece>& results);

// Kernels of the kinds that have sources of their own.
namespace kinds {
std::vector<Piece> contract(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Pieces& inputs);
std::vector<Piece> elementwise(const OperatorGraph& graph, const Operator& op, const Ranges& ranges,
                               const Pieces& inputs);
Piece elementwise_gradient(const Reverse& reverse, std::size_t operand);
std::vector<Piece> normalization(const OperatorGraph& graph, const Operator& op, const Ranges& ranges,
                                 const Pieces& inputs);
Piece normalization_gradient(const Reverse& reverse, std::size_t operand);
std::vector<Piece> softmax(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Pieces& inputs);
Piece softmax_gradient(const Reverse& reverse);
std::vector<Piece> route(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Pieces& inputs);
std::vector<Piece> cross_entropy(const OperatorGraph& graph, const Operator& op, const Ranges& ranges,
                                 const Pieces& inputs);
Piece cross_entropy_gradient(const Reverse& reverse);
std::vector<Piece> attention(const OperatorGraph& graph, const Operator& op, const Ranges& ranges,
                             const Pieces& inputs);
Piece attention_gradient(const Reverse& reverse, std::size_t operand);
std::vector<Piece> scan(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Pieces& inputs);
// The gradient as a tensor with the labels of `to`.
Piece scan_gradient(const Reverse& reverse, std::size_t operand, const Operand& to);
// Views, splits and concatenations: the same elements at other places.
std::vector<Piece> move(const OperatorGraph& graph, const Operator& op, const Ranges& ranges, const Pieces& inputs);
Piece move_gradient(const Reverse& reverse, std::size_t operand);
bool moves(const Operator& op);
}  // namespace kinds

// Returns a piece that must be there.
const Piece& needed(const Reverse& reverse, const Pieces& pieces, std::size_t i, const char* what);
// Results of zeros.
std::vector<Piece> zeros(const OperatorGraph& graph, const std::vector<Operand>& outputs, const Ranges& ranges);

}  // namespace mirfak::interpreter
