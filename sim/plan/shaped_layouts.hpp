#pragma once

#include "cluster/cluster.hpp"
#include "plan/strategy_space.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mirfak {

// Stages in a row that lie on nodes of one type and have one shape.
struct StagesOfType {
  std::size_t type = 0;  // place among the types that a layout lies on
  StageShape shape;
  int stages = 1;
};

// Every way to give the stages on each type of a cluster's nodes a shape of their own: tensor and expert sizes and a
// number of stages of the space for each type, with data parallelism over what is left of the type's GPUs, where not
// all types have the same shape and those beside each other divide (strategy/stage_rules.hpp) in some order of the
// types. Their stages stand in the cluster's order. Nothing on a cluster of one type.
std::vector<Strategy> shaped_layouts(const StrategySpace& space, const Cluster& cluster);

// The stages of a layout that stand in the order of types with so many GPUs: runs of one shape on one type.
std::vector<StagesOfType> stages_by_type(const Strategy& layout, std::span<const std::int64_t> gpus_of_types);
// The layout with these stages, those of a type where `order` has it.
Strategy with_stages(Strategy layout, std::span<const StagesOfType> stages, std::span<const std::size_t> order);

// What of a space stages of their own shape can have: schedules of one chunk in a loop.
StrategySpace space_of_shaped(StrategySpace space);

}  // namespace mirfak
