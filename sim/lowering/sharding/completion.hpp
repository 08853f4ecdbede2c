#pragma once

#include "sharding/annotation.hpp"
#include "sharding/axis_rules.hpp"
#include "sharding/sharding_plan.hpp"

#include <span>

namespace mirfak {

// Completes annotations of a few tensors to the sharding of all tensors, as GSPMD does (arXiv 2105.04663, section 3.5),
// and decides how each operator then divides its labels. Axes that nothing divides stay whole. The work depends on the
// graph alone, not on the sizes of mesh axes.
//
//  1. An annotated axis stays as annotated. All other axes are refined: the known shardings of an operator's other
//     operands can divide an axis further, but never differently, and a mesh axis divides one axis of a tensor at most.
//  2. Elementwise operators come first, in both directions; then results of all other operators are refined from their
//     operands; then operands from results and from each other. After each change the work goes on with the first of
//     these three steps that the change affects.
//  3. A gradient without an annotation lies as its tensor; its axes that are left open follow its tensor.
//  4. A mesh axis divides that label of an operator along which it divides most operands: operands that agree need not
//     move. In a tie, parameters come before inputs, and inputs before results. A windowed axis is divided as its step,
//     and devices exchange the rows at the edges (halo.hpp).
//
// `choices`: rules for keys and attention, which are not properties of a tensor (axis_rules.hpp). Two annotations of
// one tensor are merged; throws Error(input) naming both annotations where they contradict each other. Annotations of
// different tensors never contradict each other: tensors are resharded between them.
ShardingPlan complete(const OperatorGraph& graph, const DeviceMesh& mesh, std::span<const Annotation> annotations,
                      std::span<const AxisRule> choices = {});

// Returns the shardings that rules prescribe as annotations: for parameters, streams, other inputs, and rows of
// experts.
std::vector<Annotation> annotations_of(const OperatorGraph& graph, std::span<const AxisRule> rules);

}  // namespace mirfak
