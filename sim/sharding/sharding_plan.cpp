#include "sharding/sharding_plan.hpp"

namespace mirfak {

Sharding operand_sharding(const Operand& operand, const LabelSharding& labels) {
  Sharding out;
  for (const Axis label : operand.labels) out.axes.push_back(labels[index_of(label)]);
  return out;
}

Sharding result_sharding(const Operator& op, const Operand& output, const LabelSharding& labels) {
  Sharding made = operand_sharding(output, labels);
  MeshAxisSet dividing;
  for (const MeshAxisSet axes : made.axes) dividing.insert(axes);
  for (const Operand& input : op.inputs) {
    for (const Axis label : input.labels) {
      if (!output.labels.contains(label)) made.partial.insert(labels[index_of(label)]);
    }
  }
  // A window's step is not a label of the axis that it goes over, though it divides it.
  if (!op.inputs.empty()) made.partial.erase(dividing);
  return made;
}

}  // namespace mirfak
