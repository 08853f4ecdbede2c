#include "sharding/axis_rules.hpp"

namespace mirfak {

std::vector<AxisRule> axis_rules(const Strategy& strategy) {
  using On = AxisRule::On;
  std::vector<AxisRule> rules = {{Axis::batch, MeshAxis::data, On::inputs}};
  if (strategy.tensor > 1) {
    rules.push_back({Axis::kv_heads, MeshAxis::tensor, On::parameters});
    rules.push_back({Axis::ffn, MeshAxis::tensor, On::parameters});
    rules.push_back({Axis::vocabulary, MeshAxis::tensor, On::parameters});
    if (strategy.sequence_parallel) rules.push_back({Axis::sequence, MeshAxis::tensor, On::residual});
  }
  return rules;
}

}  // namespace mirfak
