#include "sharding/sharding_plan.hpp"

namespace mirfak {

Sharding operand_sharding(const Operand& operand, const LabelSharding& labels) {
  Sharding out;
  for (const Axis label : operand.labels) out.axes.push_back(labels[index_of(label)]);
  return out;
}

Sharding result_sharding(const Operator& op, const Operand& output, const LabelSharding& labels) {
  Sharding made = operand_sharding(output, labels);
  for (const Operand& input : op.inputs) {
    for (const Axis label : input.labels) {
      if (!output.labels.contains(label)) made.partial.insert(labels[index_of(label)]);
    }
  }
  return made;
}

}  // namespace mirfak
