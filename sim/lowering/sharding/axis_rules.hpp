#pragma once

#include "graph/operator_graph.hpp"
#include "sharding/device_mesh.hpp"
#include "strategy/strategy.hpp"

#include <vector>

namespace mirfak {

// A rule "shard the axes of this parallelism over that mesh axis" for annotated tensors; all other tensors get their
// sharding by propagation. A tensor with several axes of the parallelism is divided along the first of them. Rules on
// keys and on attention apply to the operator: they replace the division of labels that the operator would choose. Each
// graph states which of its axes a parallelism divides (AxisInfo::divided_by); a rule for axes that a block does not
// have has no effect.
struct AxisRule {
  enum class On {
    parameters,  // trained tensors
    inputs,      // all tensors that enter a block, and the residual stream where it leaves the block
    residual,    // the residual stream where it enters and leaves a block
    dispatched,  // results of dispatch: rows for experts
    combined,    // operands of combine: rows from experts
    logits,      // operands of losses: divided by these rules alone; without any such rule as the products leave them
    keys,       // key tokens of fused attention: they stay divided although query tokens are divided over the same mesh
                // axis, so the pieces of keys pass round in a ring
    attention,  // the other labels of fused attention: these labels are divided instead of the token labels
    products,   // rows of products with weights: where rows are gathered before the product, or summed and scattered
                // after the product, the product runs in pieces, overlapped with rows that pass round in a ring
    gathered_products,  // like `products`, but only where rows are gathered before the product
  };
  Parallelism axes{};
  MeshAxis mesh{};
  On on{};
};

// Returns the rules that make a strategy. Tensor parallelism (arXiv 1909.08053) shards heads, the MLP's inner axis and
// the vocabulary of the parameters; sequence parallelism (arXiv 2205.05198) shards the tokens of the residual stream;
// data parallelism shards the batch; expert parallelism (GShard, arXiv 2006.16668) shards the experts, over mesh axes
// that divide tokens everywhere else; context parallelism shards the tokens of all tensors that enter a block. Without
// `scatters_in_pieces` Strategy::overlap_tensor applies to gathered rows only. `gathers_logits`: each tensor rank
// gathers the logits of all classes before the loss.
std::vector<AxisRule> axis_rules(const Strategy& strategy, bool scatters_in_pieces = true, bool gathers_logits = false);

// Returns the mesh with the axes data, expert, context, tensor and, if context ranks divide heads in groups, heads, in
// the order of MeshAxis.
DeviceMesh mesh_of(const Strategy& strategy);

// Returns the mesh axes of context ranks: those over which the tokens of a sequence are divided.
MeshAxisSet context_axes(const Strategy& strategy);
// True if a collective is among context ranks alone.
bool is_of_context(MeshAxisSet axes);

// Returns the mesh axes that divide experts.
MeshAxisSet expert_axes(const Strategy& strategy);

}  // namespace mirfak
