#pragma once

#include "meaning.hpp"

#include <map>
#include <optional>
#include <vector>

namespace mirfak::interpreter {

// Values of the tensors of a graph, by their ids; nothing where no operator has made one.
using Values = std::vector<std::optional<Piece>>;

// Numbers for all that enters a block: parameters, streams, places in tables (whole numbers within them), and the
// gradients of the streams that leave it. They depend on names and places alone.
Values entering_values(const OperatorGraph& graph);
// Runs forward operators, then gradient operators; `forward_only` stops between them.
Values run(const OperatorGraph& graph, const Meaning& meaning, Values values, bool forward_only = false);
// Batch norms, of sequences that devices have: of each operator that is one or the gradient of one, the groups that
// sequences are in. Their results depend on how the batch is divided.
using SequenceGroups = std::map<OperatorId, std::vector<Places>>;
Values run(const OperatorGraph& graph, const Meaning& meaning, Values values, const SequenceGroups& groups);
bool is_batch_norm(const OperatorGraph& graph, OperatorId id);

// The value whose gradients are computed: the sum of all elements of what leaves, each times the gradient that
// `entering` has for it, and of all losses.
double objective(const OperatorGraph& graph, const Values& values);

// The gradient of a parameter: the sum of what the microbatch finds for it. nullopt: none.
std::optional<Piece> parameter_gradient(const OperatorGraph& graph, const Values& values, TensorId parameter);
// The tensors whose sum it is.
std::vector<TensorId> contributions(const OperatorGraph& graph, TensorId parameter);
// Gradients that enter: of streams that leave the block.
std::vector<TensorId> entering_gradients(const OperatorGraph& graph);

}  // namespace mirfak::interpreter
