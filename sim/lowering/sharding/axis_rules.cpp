#include "sharding/axis_rules.hpp"

namespace mirfak {

namespace {

// Adds the rules of expert parallelism. Rows lie with their experts, so rows are not divided by tokens over the mesh
// axes that divide experts. If tensor ranks divide each expert, all of these ranks need every row, and their results
// are partial sums that go back divided by tokens.
void add_expert_rules(const Strategy& strategy, std::vector<AxisRule>& rules) {
  using On = AxisRule::On;
  const MeshAxisSet experts = expert_axes(strategy);
  for (const MeshAxis mesh : experts) {
    for (const On on : {On::parameters, On::dispatched, On::combined})
      rules.push_back({Parallelism::experts, mesh, on});
  }
  const bool divided = strategy.tensor_of_experts() > 1;
  if (divided) rules.push_back({Parallelism::expert_tensor, MeshAxis::tensor, On::parameters});
  for (const On on : {On::dispatched, On::combined}) {
    rules.push_back({Parallelism::data, MeshAxis::data, on});
    for (const MeshAxis context : context_axes(strategy)) {
      if (!experts.contains(context)) rules.push_back({Parallelism::tokens, context, on});
    }
    const bool tokens = strategy.sequence_parallel && !experts.contains(MeshAxis::tensor);
    if (tokens && (!divided || on == On::combined)) rules.push_back({Parallelism::tokens, MeshAxis::tensor, on});
  }
}

// Divides logits as inputs: by sequences and tokens, not by classes.
void add_logit_rules(std::vector<AxisRule>& rules) {
  const std::vector<AxisRule> all = rules;
  for (const AxisRule& rule : all) {
    if (rule.on == AxisRule::On::inputs) rules.push_back({rule.axes, rule.mesh, AxisRule::On::logits});
  }
}

}  // namespace

std::vector<AxisRule> axis_rules(const Strategy& strategy, bool scatters_in_pieces, bool gathers_logits) {
  using On = AxisRule::On;
  std::vector<AxisRule> rules = {{Parallelism::data, MeshAxis::data, On::inputs}};
  if (strategy.expert_span().data > 1) rules.push_back({Parallelism::data, MeshAxis::expert, On::inputs});
  if (strategy.context > 1) {
    for (const MeshAxis context : context_axes(strategy)) {
      rules.push_back({Parallelism::tokens, context, On::inputs});
    }
    if (strategy.context_heads > 1) rules.push_back({Parallelism::tensor, MeshAxis::heads, On::attention});
    switch (strategy.context_communication) {
      case ContextCommunication::p2p:
        rules.push_back({Parallelism::tokens, MeshAxis::context, On::keys});
        break;
      case ContextCommunication::all_to_all:
        rules.push_back({Parallelism::tensor, MeshAxis::context, On::attention});
        break;
      case ContextCommunication::all_gather:
        break;  // attention gathers the labels that it needs whole anyway
    }
  }
  if (strategy.tensor > 1) {
    rules.push_back({Parallelism::tensor, MeshAxis::tensor, On::parameters});
    if (strategy.sequence_parallel) rules.push_back({Parallelism::tokens, MeshAxis::tensor, On::residual});
    if (strategy.sequence_parallel && strategy.overlap_tensor) {
      rules.push_back(
          {Parallelism::tokens, MeshAxis::tensor, scatters_in_pieces ? On::products : On::gathered_products});
    }
  }
  add_expert_rules(strategy, rules);
  if (gathers_logits && strategy.tensor > 1) add_logit_rules(rules);
  return rules;
}

DeviceMesh mesh_of(const Strategy& strategy) {
  const int expert = strategy.expert_span().data;
  DeviceMesh mesh = {{"data", strategy.data / expert},
                     {"expert", expert},
                     {"context", strategy.context / strategy.context_heads},
                     {"tensor", strategy.tensor}};
  if (strategy.context_heads > 1) mesh.add({"heads", strategy.context_heads});
  return mesh;
}

MeshAxisSet context_axes(const Strategy& strategy) {
  MeshAxisSet axes(MeshAxis::context);
  if (strategy.context_heads > 1) axes.insert(MeshAxis::heads);
  return axes;
}

bool is_of_context(MeshAxisSet axes) {
  return !axes.empty() && MeshAxisSet{MeshAxis::context, MeshAxis::heads}.contains(axes);
}

MeshAxisSet expert_axes(const Strategy& strategy) {
  const ExpertSpan span = strategy.expert_span();
  MeshAxisSet axes;
  if (span.data > 1) axes.insert(MeshAxis::expert);
  if (span.context) axes.insert(context_axes(strategy));
  if (span.tensor) axes.insert(MeshAxis::tensor);
  return axes;
}

}  // namespace mirfak
