#pragma once

#include "block/file.hpp"
#include "graph/operator_graph.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mirfak {

// What `mirfak block` shows: axes, tensors with their shapes, forward and derived gradient operators, what is kept for
// backward, parameters and FLOPs. `graph` has its gradient operators.
std::string block_text(const block::Definition& definition, const OperatorGraph& graph);
// The same for programs: one object (sim/block/README.md).
nlohmann::ordered_json block_json(const block::Definition& definition, const OperatorGraph& graph);

}  // namespace mirfak
