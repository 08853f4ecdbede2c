#pragma once

#include "graph/operator_graph.hpp"
#include "model/blocks.hpp"

namespace mirfak {

// The operators of a block, each by itself, as the kernels that a framework has for them: chains of them become one
// (graph/fusion.hpp), others move their operands through memory as often as their chain of kernels does.
OperatorGraph with_fused_kernels(OperatorGraph graph, const BlockOptions& options);

}  // namespace mirfak
