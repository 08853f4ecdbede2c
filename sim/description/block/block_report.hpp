#pragma once

#include "block/file.hpp"
#include "graph/operator_graph.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mirfak {

// Returns the text of `mirfak block`: axes, tensors with their shapes, forward and derived gradient operators, tensors
// kept for backward, parameters and FLOPs. `graph` has its gradient operators.
std::string block_text(const block::Definition& definition, const OperatorGraph& graph);
// Returns the report as one JSON object (sim/description/block/README.md).
nlohmann::ordered_json block_json(const block::Definition& definition, const OperatorGraph& graph);

}  // namespace mirfak
