#include "sharding/axis_rules.hpp"

namespace mirfak {

std::vector<AxisRule> axis_rules(const Strategy& strategy) {
  using On = AxisRule::On;
  std::vector<AxisRule> rules = {{Axis::batch, MeshAxis::data, On::inputs}};
  if (strategy.context > 1) {
    rules.push_back({Axis::sequence, MeshAxis::context, On::inputs});
    switch (strategy.context_communication) {
      case ContextCommunication::p2p:
        rules.push_back({Axis::kv_sequence, MeshAxis::context, On::attention});
        break;
      case ContextCommunication::all_to_all:
        rules.push_back({Axis::kv_heads, MeshAxis::context, On::attention});
        break;
      case ContextCommunication::all_gather:
        break;  // what attention needs whole is gathered anyway
    }
  }
  if (strategy.tensor > 1) {
    rules.push_back({Axis::kv_heads, MeshAxis::tensor, On::parameters});
    rules.push_back({Axis::ffn, MeshAxis::tensor, On::parameters});
    rules.push_back({Axis::vocabulary, MeshAxis::tensor, On::parameters});
    if (strategy.sequence_parallel) rules.push_back({Axis::sequence, MeshAxis::tensor, On::residual});
  }
  return rules;
}

DeviceMesh mesh_of(const Strategy& strategy) { return {strategy.data, strategy.context, strategy.tensor}; }

}  // namespace mirfak
