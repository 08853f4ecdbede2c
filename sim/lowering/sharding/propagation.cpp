// Sharding propagation after GSPMD (arXiv 2105.04663, section 3.5). A few tensors are annotated; the rest follow from
// the operators between them. Elementwise operators go first and in both directions, because they force nothing: their
// inputs lie as their outputs. Contractions go last and forward only. Example, sequence parallelism: the residual
// stream is divided by tokens; the sum that closes the attention branch is elementwise, so the output projection's
// result must lie by tokens too, and its partial sums become a reduce-scatter.

#include "sharding/propagation.hpp"

#include <algorithm>

namespace mirfak {

bool is_pointwise(const Operator& op) {
  switch (op.kind) {
    case OperatorKind::elementwise:
    case OperatorKind::normalization:
    case OperatorKind::softmax:
    case OperatorKind::view:
      return true;
    default:
      return false;
  }
}

namespace {

// Claims mesh axes for labels, first come first served.
class LabelClaims {
 public:
  LabelClaims(const OperatorGraph& graph, const Operator& op) : op_(op) { labels_.resize(graph.axes.size()); }

  void claim(const Operand& operand, const Sharding& sharding) {
    for (std::size_t i = 0; i < operand.labels.size(); ++i) {
      MeshAxisSet free = sharding.axes[i];
      free.erase(taken_);
      if (free.empty() || must_be_whole(op_, operand.labels[i])) continue;
      labels_[index_of(operand.labels[i])].insert(free);
      taken_.insert(free);
    }
  }
  const LabelSharding& labels() const { return labels_; }

 private:
  const Operator& op_;
  LabelSharding labels_;
  MeshAxisSet taken_;
};

void apply(const OperatorGraph& graph, std::span<const AxisRule> rules, AxisRule::On on, const Tensor& tensor,
           Sharding& sharding) {
  sharding.axes.resize(tensor.axes.size());
  for (const AxisRule& rule : rules) {
    if (rule.on != on) continue;
    const auto* const axis = std::find_if(tensor.axes.begin(), tensor.axes.end(),
                                          [&](Axis candidate) { return graph.divided_by(candidate) == rule.axes; });
    if (axis != tensor.axes.end())
      sharding.axes[static_cast<std::size_t>(axis - tensor.axes.begin())].insert(rule.mesh);
  }
}

// Annotates rows where they leave dispatch operators and where they enter combine operators.
void annotate_rows(const OperatorGraph& graph, std::span<const AxisRule> rules,
                   std::vector<std::optional<Sharding>>& known) {
  for (const Operator& op : graph.operators) {
    if (op.phase != Phase::forward) continue;
    const bool dispatch = op.kind == OperatorKind::dispatch;
    if (!dispatch && op.kind != OperatorKind::combine) continue;
    for (const Operand& rows : dispatch ? op.outputs : op.inputs) {
      Sharding sharding;
      apply(graph, rules, dispatch ? AxisRule::On::dispatched : AxisRule::On::combined, graph.tensor(rows.tensor),
            sharding);
      known[static_cast<std::size_t>(rows.tensor)] = sharding;
    }
  }
}

// Annotates operands of losses, if there are rules for them.
void annotate_logits(const OperatorGraph& graph, std::span<const AxisRule> rules,
                     std::vector<std::optional<Sharding>>& known) {
  const bool annotated =
      std::any_of(rules.begin(), rules.end(), [](const AxisRule& rule) { return rule.on == AxisRule::On::logits; });
  for (const Operator& op : graph.operators) {
    if (!annotated || op.phase != Phase::forward || op.kind != OperatorKind::cross_entropy) continue;
    const TensorId logits = op.inputs.front().tensor;
    Sharding sharding;
    apply(graph, rules, AxisRule::On::logits, graph.tensor(logits), sharding);
    known[static_cast<std::size_t>(logits)] = sharding;
  }
}

using Known = std::vector<std::optional<Sharding>>;

bool set_unknown(Known& known, const std::vector<Operand>& operands, const LabelSharding& labels) {
  bool changed = false;
  for (const Operand& operand : operands) {
    std::optional<Sharding>& sharding = known[static_cast<std::size_t>(operand.tensor)];
    if (sharding) continue;
    sharding = operand_sharding(operand, labels);
    changed = true;
  }
  return changed;
}

bool any_known(const Known& known, const std::vector<Operand>& operands) {
  return std::any_of(operands.begin(), operands.end(), [&](const Operand& operand) {
    return known[static_cast<std::size_t>(operand.tensor)].has_value();
  });
}

bool knows_activation(const OperatorGraph& graph, const Known& known, const Operator& op) {
  const auto informative = [&](const Operand& operand) {
    return !is_parameter(graph, operand.tensor) && known[static_cast<std::size_t>(operand.tensor)].has_value();
  };
  return std::any_of(op.inputs.begin(), op.inputs.end(), informative) ||
         std::any_of(op.outputs.begin(), op.outputs.end(), informative);
}

// True if an elementwise operator must wait for an unknown input: the other operands say nothing about axes that only
// this input has. Example: weights of experts' rows do not tell how the inner size of an expert is divided; the product
// that makes the other input does.
bool waits_for_input(const OperatorGraph& graph, const Known& known, const Operator& op) {
  if (op.kind != OperatorKind::elementwise) return false;
  AxisSet told;
  const auto tell = [&](const std::vector<Operand>& operands) {
    for (const Operand& operand : operands) {
      if (is_parameter(graph, operand.tensor) || !known[static_cast<std::size_t>(operand.tensor)]) continue;
      for (const Axis label : operand.labels) told.insert(label);
    }
  };
  tell(op.inputs);
  tell(op.outputs);
  return std::any_of(op.inputs.begin(), op.inputs.end(), [&](const Operand& input) {
    if (is_parameter(graph, input.tensor) || known[static_cast<std::size_t>(input.tensor)]) return false;
    return !AxisSet(input.labels).without(told).empty();
  });
}

// Runs one pass over the pointwise operators, in both directions. Returns true on a change.
bool propagate_pointwise(const OperatorGraph& graph, Known& known) {
  bool changed = false;
  for (const Operator& op : graph.operators) {
    if (op.phase != Phase::forward || !is_pointwise(op) || !knows_activation(graph, known, op)) continue;
    if (waits_for_input(graph, known, op)) continue;
    const LabelSharding labels = divide_labels(graph, op, known);
    const bool inputs_changed = set_unknown(known, op.inputs, labels);
    changed = set_unknown(known, op.outputs, labels) || inputs_changed || changed;
  }
  return changed;
}

// Propagates over the first contraction with a known operand and an unknown result. Returns false if there is none.
bool propagate_contraction(const OperatorGraph& graph, Known& known) {
  for (const Operator& op : graph.operators) {
    if (op.phase != Phase::forward || is_pointwise(op) || !any_known(known, op.inputs)) continue;
    if (set_unknown(known, op.outputs, divide_labels(graph, op, known))) return true;
  }
  return false;
}

// Gives copies that gradient operators make for others (Operator::divided_as) the sharding in which they leave the
// kernel.
void place_copies(const OperatorGraph& graph, const Known& known, std::vector<Sharding>& shardings) {
  for (const Operator& op : graph.operators) {
    if (op.divided_as < 0 || op.phase == Phase::forward) continue;
    const Known now(shardings.begin(), shardings.end());
    const LabelSharding labels = divide_labels(graph, op, now);
    for (const Operand& output : op.outputs) {
      const auto id = static_cast<std::size_t>(output.tensor);
      if (graph.tensors[id].of < 0 && !known[id]) shardings[id] = operand_sharding(output, labels);
    }
  }
}

// Returns the first label of an operand whose axis the parallelism divides.
std::optional<Axis> label_of(const OperatorGraph& graph, const Operand& operand, Parallelism parallelism) {
  for (const Axis label : operand.labels) {
    if (graph.divided_by(label) == parallelism) return label;
  }
  return std::nullopt;
}

void divide_instead(std::optional<Axis> label, MeshAxis mesh, LabelSharding& labels) {
  if (!label) return;
  for (MeshAxisSet& axes : labels) axes.erase(mesh);
  labels[index_of(*label)].insert(mesh);
}

}  // namespace

void follow_rules(const OperatorGraph& graph, const Operator& op, const DeviceMesh& mesh,
                  std::span<const AxisRule> rules, LabelSharding& labels) {
  const bool scan = op.kind == OperatorKind::scan;
  if (op.kind != OperatorKind::attention && !scan) return;
  for (const AxisRule& rule : rules) {
    if (mesh.size(rule.mesh) == 1) continue;
    if (rule.on == AxisRule::On::attention || (rule.on == AxisRule::On::keys && scan)) {
      divide_instead(label_of(graph, op.inputs[1], scan ? Parallelism::tensor : rule.axes), rule.mesh, labels);
    } else if (rule.on == AxisRule::On::keys) {
      labels[index_of(op.over[1])].insert(rule.mesh);
    }
  }
}

std::vector<std::optional<Sharding>> annotated_shardings(const OperatorGraph& graph, std::span<const AxisRule> rules) {
  Known known(graph.tensors.size());
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& tensor = graph.tensors[id];
    const auto tensor_id = static_cast<TensorId>(id);
    const bool residual = graph.is_stream(tensor_id);
    const bool parameter = tensor.role == TensorRole::parameter || tensor.role == TensorRole::parameter_copy;
    if (!parameter && !residual && tensor.role != TensorRole::input) continue;
    Sharding sharding;
    apply(graph, rules, parameter ? AxisRule::On::parameters : AxisRule::On::inputs, tensor, sharding);
    if (residual) apply(graph, rules, AxisRule::On::residual, tensor, sharding);
    known[id] = sharding;
  }
  annotate_rows(graph, rules, known);
  annotate_logits(graph, rules, known);
  return known;
}

bool is_parameter(const OperatorGraph& graph, TensorId id) {
  const TensorRole role = graph.tensor(id).role;
  return role == TensorRole::parameter || role == TensorRole::parameter_gradient || role == TensorRole::parameter_copy;
}

LabelSharding divide_labels(const OperatorGraph& graph, const Operator& op,
                            std::span<const std::optional<Sharding>> shardings) {
  LabelClaims claims(graph, op);
  const auto claim = [&](const std::vector<Operand>& operands, bool parameters) {
    for (const Operand& operand : operands) {
      const std::optional<Sharding>& known = shardings[static_cast<std::size_t>(operand.tensor)];
      if (known && is_parameter(graph, operand.tensor) == parameters) claims.claim(operand, *known);
    }
  };
  const Operator& guide = op.divided_as >= 0 ? graph.op(op.divided_as) : op;
  claim(guide.inputs, true);
  claim(guide.outputs, true);
  claim(op.inputs, false);
  claim(op.outputs, false);
  return claims.labels();
}

std::vector<Sharding> propagate(const OperatorGraph& graph, std::span<const AxisRule> rules) {
  Known known = annotated_shardings(graph, rules);
  do {
    while (propagate_pointwise(graph, known)) {
    }
  } while (propagate_contraction(graph, known));

  std::vector<Sharding> out;
  out.reserve(known.size());
  for (std::size_t id = 0; id < known.size(); ++id) {
    const TensorId of = graph.tensors[id].of;
    if (of >= 0) {
      out.push_back(out[static_cast<std::size_t>(of)]);  // a gradient stands after its tensor
    } else {
      Sharding whole;
      whole.axes.resize(graph.tensors[id].axes.size());
      out.push_back(known[id].value_or(whole));
    }
  }
  place_copies(graph, known, out);
  return out;
}

ShardingPlan propagate(const OperatorGraph& graph, const DeviceMesh& mesh, std::span<const AxisRule> rules) {
  ShardingPlan plan;
  plan.tensors = propagate(graph, rules);
  const Known known(plan.tensors.begin(), plan.tensors.end());
  plan.operators.reserve(graph.operators.size());
  for (const Operator& op : graph.operators) {
    plan.operators.push_back(divide_labels(graph, op, known));
    follow_rules(graph, op, mesh, rules, plan.operators.back());
  }
  return plan;
}

}  // namespace mirfak
