#pragma once

#include "graph/operator_graph.hpp"
#include "sharding/device_mesh.hpp"
#include "strategy/strategy.hpp"

#include <vector>

namespace mirfak {

// "Shard the axes of this parallelism over that mesh axis", for the tensors that are annotated; all other tensors get
// their sharding by propagation. A tensor with several such axes is divided along the first. Rules on keys and on
// attention are for the operator: they replace what it would do with its labels. Which axes those are, each graph says
// (AxisInfo::divided_by); a rule for axes that a block has not does nothing.
struct AxisRule {
  enum class On {
    parameters,  // trained tensors
    inputs,      // all that enters a block, and the residual stream where it leaves
    residual,    // the residual stream where it enters and leaves a block
    dispatched,  // what dispatch makes of tokens: rows for experts
    combined,    // what combine makes tokens of: rows from experts
    keys,        // the tokens of keys of fused attention: they stay divided although those of queries are divided
                 // over the same mesh axis, so pieces pass round in a ring
    attention,   // the other labels of fused attention: they are divided instead of those that are
    products,    // the rows of products with weights: where they are gathered before, or summed and scattered after,
                 // the product runs in pieces and the rows pass round in a ring beside it
    gathered_products,  // ... only where they are gathered before
  };
  Parallelism axes{};
  MeshAxis mesh{};
  On on{};
};

// The rules that make a strategy. Tensor parallelism (arXiv 1909.08053) shards heads, the MLP's inner axis and
// the vocabulary of the parameters; sequence parallelism (arXiv 2205.05198) the tokens of the residual stream;
// data parallelism the batch; expert parallelism (GShard, arXiv 2006.16668) the experts, over mesh axes that divide
// tokens everywhere else; context parallelism the tokens of everything that enters a block. Without
// `scatters_in_pieces` Strategy::overlap_tensor concerns what is gathered only.
std::vector<AxisRule> axis_rules(const Strategy& strategy, bool scatters_in_pieces = true);

// Axes data, expert, context and tensor, in this order: the places that MeshAxis names.
DeviceMesh mesh_of(const Strategy& strategy);

// The mesh axes that experts are divided over.
MeshAxisSet expert_axes(const Strategy& strategy);

}  // namespace mirfak
