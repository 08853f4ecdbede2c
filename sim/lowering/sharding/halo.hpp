#pragma once

#include "graph/operator_graph.hpp"
#include "sharding/sharding_plan.hpp"

namespace mirfak {

// Returns the label of an operator that divides an axis of its operand: for a windowed axis, the step of the window.
Axis dividing_label(const Operand& operand, std::size_t position);

// True if an operator that exchanges halos still needs the axis undivided. That holds for taps of windows, and for
// steps of windows over an axis that another operand of the operator has without a window.
bool whole_with_halos(const Operator& op, Axis label);

// The rows that a device's part of a windowed axis lacks: rows of the devices before it and rows of the devices behind
// it, each the largest number that any device needs (GSPMD, arXiv 2105.04663, section 4.3). A gradient adds to these
// rows instead of reading them.
struct Halo {
  std::int64_t before = 0;
  std::int64_t behind = 0;
};
// `parts`: number of devices. Steps and axis are each cut into parts of equal size; the last part may be padded.
Halo halo_of(std::int64_t extent, std::int64_t steps, std::int64_t taps, const Window& window, std::int64_t parts);

}  // namespace mirfak
