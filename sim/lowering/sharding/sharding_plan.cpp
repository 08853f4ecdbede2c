#include "sharding/sharding_plan.hpp"

#include <algorithm>

namespace mirfak {

Sharding operand_sharding(const Operand& operand, const LabelSharding& labels) {
  Sharding out;
  for (const Axis label : operand.labels) out.axes.push_back(labels[index_of(label)]);
  return out;
}

namespace {

// True if a result depends on an operand at all. In dispatch, rows for experts depend on tokens and their weights on
// weights; in attention, the logarithm of sums depends on queries and keys alone.
bool depends(const Operator& op, const Operand& output, const Operand& input) {
  const auto place = [](const std::vector<Operand>& operands, const Operand& of) {
    return std::find_if(operands.begin(), operands.end(),
                        [&](const Operand& operand) { return operand.tensor == of.tensor; }) -
           operands.begin();
  };
  if (op.kind == OperatorKind::dispatch && op.inputs.size() == op.outputs.size()) {
    return place(op.inputs, input) == place(op.outputs, output);
  }
  const bool attends = op.kind == OperatorKind::attention && op.phase == Phase::forward;
  return !attends || place(op.outputs, output) == 0 || place(op.inputs, input) < 2;
}

}  // namespace

Sharding result_sharding(const Operator& op, const Operand& output, const LabelSharding& labels) {
  Sharding made = operand_sharding(output, labels);
  MeshAxisSet dividing;
  for (const MeshAxisSet axes : made.axes) dividing.insert(axes);
  for (const Operand& input : op.inputs) {
    if (!depends(op, output, input)) continue;
    for (const Axis label : input.labels) {
      if (!output.labels.contains(label)) made.partial.insert(labels[index_of(label)]);
    }
  }
  // The step of a window divides the axis that the window goes over, but is not a label of that axis.
  if (!op.inputs.empty()) made.partial.erase(dividing);
  return made;
}

}  // namespace mirfak
