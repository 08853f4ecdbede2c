#pragma once

#include "sharding/annotation.hpp"
#include "sharding/axis_rules.hpp"
#include "sharding/sharding_plan.hpp"

#include <span>

namespace mirfak {

// Completes annotations of a few tensors to the sharding of all, as GSPMD does (arXiv 2105.04663, section 3.5), and
// says how each operator divides its labels then. Axes that nothing divides stay whole. The work depends on the graph
// alone, not on the sizes of mesh axes.
//
//  1. An annotated axis stays as annotated. All others are refined: what is known of the other operands of an operator
//     divides an axis further, never otherwise, and no mesh axis twice in one tensor.
//  2. Elementwise operators first, both ways; then results of all others from their operands; then operands from
//     results and from each other. Whatever changes, the first of these that is concerned goes on.
//  3. A gradient lies as its tensor where it has no annotation; what is left open of it is as of its tensor.
//  4. A mesh axis divides the label of an operator that most operands are divided along by it: what agrees need not
//     move. Of equally many, parameters come before inputs, those before results. A windowed axis is divided as its
//     step, and devices exchange the rows at the edges (halo.hpp).
//
// `choices`: rules for keys and attention, which are no property of a tensor (axis_rules.hpp). Two annotations of one
// tensor are merged; Error(input) naming both where they contradict each other. Annotations of different tensors never
// do: between them tensors move.
ShardingPlan complete(const OperatorGraph& graph, const DeviceMesh& mesh, std::span<const Annotation> annotations,
                      std::span<const AxisRule> choices = {});

// What rules say of tensors, as annotations: of parameters, streams, other inputs, and rows of experts.
std::vector<Annotation> annotations_of(const OperatorGraph& graph, std::span<const AxisRule> rules);

}  // namespace mirfak
