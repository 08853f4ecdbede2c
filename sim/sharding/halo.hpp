#pragma once

#include "graph/operator_graph.hpp"
#include "sharding/sharding_plan.hpp"

namespace mirfak {

// The label of an operator that divides an axis of its operand: of a windowed axis, the step of the window.
Axis dividing_label(const Operand& operand, std::size_t position);

// Whether an operator that exchanges halos still needs the axis undivided: taps of windows, and steps of windows over
// an axis that another operand of the operator has without a window.
bool whole_with_halos(const Operator& op, Axis label);

// The rows that a device's part of a windowed axis lacks: of the devices before and behind it, the most that any device
// needs (GSPMD, arXiv 2105.04663, section 4.3). A gradient adds to them instead of reading them.
struct Halo {
  std::int64_t before = 0;
  std::int64_t behind = 0;
};
// `parts`: of how many devices; steps and axis are each cut into parts of equal size, the last may be padded.
Halo halo_of(std::int64_t extent, std::int64_t steps, std::int64_t taps, const Window& window, std::int64_t parts);

}  // namespace mirfak
