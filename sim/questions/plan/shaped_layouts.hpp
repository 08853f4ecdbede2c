#pragma once

#include "cluster/cluster.hpp"
#include "plan/strategy_space.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mirfak {

// Consecutive stages that lie on nodes of one type and have one shape.
struct StagesOfType {
  std::size_t type = 0;  // index among the types of the layout's nodes
  StageShape shape;
  int stages = 1;
};

// Returns every way to give the stages on each type of a cluster's nodes a shape of their own: tensor and expert sizes
// and a number of stages of the space for each type, with data parallelism over the rest of the type's GPUs. Not all
// types have the same shape, and shapes next to each other divide (strategy/stage_rules.hpp) in some order of the
// types. The stages lie in the cluster's order. Returns nothing for a cluster of one type.
std::vector<Strategy> shaped_layouts(const StrategySpace& space, const Cluster& cluster);

// Returns the stages of a layout as runs of one shape on one type. `gpus_of_types`: numbers of GPUs of the types, in
// the order in which the stages lie on them.
std::vector<StagesOfType> stages_by_type(const Strategy& layout, std::span<const std::int64_t> gpus_of_types);
// Returns the layout with these stages, the types in the order of `order`.
Strategy with_stages(Strategy layout, std::span<const StagesOfType> stages, std::span<const std::size_t> order);

// Returns the part of a space that stages with shapes of their own can have: schedules of one chunk in a loop.
StrategySpace space_of_shaped(StrategySpace space);

}  // namespace mirfak
