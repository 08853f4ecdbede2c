#include "meaning.hpp"

#include "base/error.hpp"
#include "graph/backward.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace mirfak::interpreter {

namespace {

bool is_gradient(const OperatorGraph& graph, TensorId id) {
  const TensorRole role = graph.tensor(id).role;
  return role == TensorRole::gradient || role == TensorRole::parameter_gradient;
}

std::optional<TensorId> named(const OperatorGraph& graph, const std::string& name) {
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].name == name) return static_cast<TensorId>(id);
  }
  return std::nullopt;
}

// The same operator, but for the numbers of its tensors.
bool alike(const OperatorGraph& a, const Operator& x, const OperatorGraph& b, const Operator& y) {
  const auto same = [&](const std::vector<Operand>& p, const std::vector<Operand>& q) {
    return std::equal(p.begin(), p.end(), q.begin(), q.end(), [&](const Operand& of_a, const Operand& of_b) {
      return a.tensor(of_a.tensor).name == b.tensor(of_b.tensor).name;
    });
  };
  return x.kind == y.kind && x.function == y.function && same(x.inputs, y.inputs) && same(x.outputs, y.outputs);
}

bool makes(const Operator& op, TensorId id) {
  return std::any_of(op.outputs.begin(), op.outputs.end(), [id](const Operand& output) { return output.tensor == id; });
}

}  // namespace

Meaning::Meaning(const OperatorGraph& graph, const OperatorGraph* unfused) : graph_(graph) {
  if (unfused == nullptr) return;
  for (std::size_t id = 0; id < graph.operators.size(); ++id) {
    const Operator& op = graph.operators[id];
    if (op.phase != Phase::forward) continue;
    const bool known = std::any_of(unfused->operators.begin(), unfused->operators.end(),
                                   [&](const Operator& before) { return alike(graph, op, *unfused, before); });
    if (!known) fused_[static_cast<OperatorId>(id)] = find_parts(static_cast<OperatorId>(id), *unfused);
  }
}

// All operators on the ways from what the kernel reads to what it leaves.
Meaning::Parts Meaning::find_parts(OperatorId id, const OperatorGraph& unfused) const {
  const Operator& op = graph_.op(id);
  Parts parts;
  parts.graph = &unfused;
  const auto known = [&](TensorId tensor) {
    const std::optional<TensorId> found = named(unfused, graph_.tensor(tensor).name);
    if (!found) fail_internal("what the kernel " + op.name + " is made of is not in the graph before fusion");
    parts.known_as[tensor] = *found;
    return *found;
  };
  std::set<TensorId> read;
  for (const Operand& input : op.inputs) read.insert(known(input.tensor));
  std::vector<TensorId> wanted;
  for (const Operand& output : op.outputs) wanted.push_back(known(output.tensor));
  std::set<OperatorId> found;
  while (!wanted.empty()) {
    const TensorId tensor = wanted.back();
    wanted.pop_back();
    if (read.contains(tensor)) continue;
    for (std::size_t part = 0; part < unfused.operators.size(); ++part) {
      if (!makes(unfused.operators[part], tensor) || !found.insert(static_cast<OperatorId>(part)).second) continue;
      for (const Operand& input : unfused.operators[part].inputs) wanted.push_back(input.tensor);
    }
  }
  parts.operators.assign(found.begin(), found.end());
  return parts;
}

std::vector<Piece> Meaning::run(OperatorId id, const Ranges& ranges, const Pieces& inputs) const {
  return graph_.op(id).gradient_of >= 0 ? run_gradient(id, ranges, inputs) : run_forward(id, ranges, inputs);
}

bool Meaning::must_be_finished(OperatorId id) const {
  const Operator& op = graph_.op(id);
  return op.kind == OperatorKind::cross_entropy && op.phase == Phase::forward;
}

std::vector<Piece> Meaning::run_forward(OperatorId id, const Ranges& ranges, const Pieces& inputs) const {
  const Operator& op = graph_.op(id);
  const auto fused = fused_.find(id);
  if (fused == fused_.end()) return compute(graph_, op, ranges, inputs);
  const Parts& parts = fused->second;
  Environment there;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    there.insert_or_assign(parts.known_as.at(op.inputs[i].tensor), *inputs[i]);
  }
  for (const OperatorId part_id : parts.operators) {
    const Operator& part = parts.graph->op(part_id);
    Pieces read;
    for (const Operand& input : part.inputs) read.push_back(&there.at(input.tensor));
    std::vector<Piece> made = compute(*parts.graph, part, ranges, read);
    for (std::size_t i = 0; i < made.size(); ++i) there.insert_or_assign(part.outputs[i].tensor, std::move(made[i]));
  }
  std::vector<Piece> out;
  for (const Operand& output : op.outputs) out.push_back(there.at(parts.known_as.at(output.tensor)));
  return out;
}

std::vector<Operand> Meaning::parameters_of(OperatorId id) const { return unlisted_parameters(graph_, graph_.op(id)); }

// Returns the results of a forward operator whose gradients its gradient operator reads.
std::vector<std::size_t> Meaning::differentiated_results(OperatorId forward, std::size_t gradients) const {
  const Operator& op = graph_.op(forward);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const TensorId id = op.outputs[i].tensor;
    bool read = std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end();
    for (const Operator& reader : graph_.operators) {
      if (reader.phase != Phase::forward || !reader.has_gradient) continue;
      for (const Operand& input : reader.inputs) read = read || input.tensor == id;
    }
    if (read) out.push_back(i);
  }
  if (out.size() == gradients) return out;
  if (gradients <= 1) return std::vector<std::size_t>(gradients, 0);
  fail_internal("which results of " + op.name + " have gradients is not clear");
}

Reverse Meaning::reverse_of(OperatorId id, const Ranges& ranges, const Pieces& inputs) const {
  const Operator& gradient = graph_.op(id);
  const Operator& forward = graph_.op(gradient.gradient_of);
  Reverse out{graph_, forward, ranges, {}, {}, {}};
  out.inputs.resize(forward.inputs.size());
  out.outputs.resize(forward.outputs.size());
  out.output_gradients.resize(forward.outputs.size());
  std::vector<Operand> operands = gradient.inputs;
  const std::vector<Operand> parameters = parameters_of(id);
  operands.insert(operands.end(), parameters.begin(), parameters.end());
  Pieces gradients;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (is_gradient(graph_, operands[i].tensor)) gradients.push_back(inputs[i]);
    for (std::size_t own = 0; own < forward.inputs.size(); ++own) {
      if (forward.inputs[own].tensor == operands[i].tensor) out.inputs[own] = inputs[i];
    }
    for (std::size_t own = 0; own < forward.outputs.size(); ++own) {
      if (forward.outputs[own].tensor == operands[i].tensor) out.outputs[own] = inputs[i];
    }
  }
  const std::vector<std::size_t> results = differentiated_results(gradient.gradient_of, gradients.size());
  for (std::size_t i = 0; i < results.size(); ++i) out.output_gradients[results[i]] = gradients[i];
  return out;
}

std::vector<Piece> Meaning::run_gradient(OperatorId id, const Ranges& ranges, const Pieces& inputs) const {
  const Operator& gradient = graph_.op(id);
  const Operator& forward = graph_.op(gradient.gradient_of);
  const Reverse reverse = reverse_of(id, ranges, inputs);
  const auto fused = fused_.find(gradient.gradient_of);
  if (fused != fused_.end()) return run_back_through(fused->second, forward, gradient, ranges, reverse);
  std::vector<Piece> out;
  std::map<TensorId, std::size_t> next;  // of several uses of a tensor, in their order
  for (const Operand& output : gradient.outputs) {
    const TensorId of = graph_.tensor(output.tensor).of;
    std::size_t operand = next.contains(of) ? next[of] : 0;
    while (operand < forward.inputs.size() && forward.inputs[operand].tensor != of) ++operand;
    if (operand == forward.inputs.size() && forward.kind == OperatorKind::scan) {
      out.push_back(gradient_of_decay(reverse));
      continue;
    }
    if (operand == forward.inputs.size()) fail_internal(gradient.name + " makes a gradient of no operand");
    next[of] = operand + 1;
    out.push_back(gradient_of_input(reverse, operand));
  }
  return out;
}

namespace {

// Gradients of tensors inside of a kernel, each a sum.
void contribute(std::map<TensorId, Piece>& gradients, TensorId to, const Piece& gradient) {
  const auto [place, added] = gradients.try_emplace(to, gradient);
  if (!added) place->second.values += gradient.values;
}

}  // namespace

std::vector<Piece> Meaning::run_back_through(const Parts& parts, const Operator& forward, const Operator& gradient,
                                             const Ranges& ranges, const Reverse& whole) const {
  const OperatorGraph& graph = *parts.graph;
  Environment there;
  Environment gradients;
  for (std::size_t i = 0; i < forward.inputs.size(); ++i) {
    if (whole.inputs[i] != nullptr)
      there.insert_or_assign(parts.known_as.at(forward.inputs[i].tensor), *whole.inputs[i]);
  }
  for (std::size_t i = 0; i < forward.outputs.size(); ++i) {
    const TensorId inside = parts.known_as.at(forward.outputs[i].tensor);
    if (whole.outputs[i] != nullptr) there.insert_or_assign(inside, *whole.outputs[i]);
    if (whole.output_gradients[i] != nullptr) contribute(gradients, inside, *whole.output_gradients[i]);
  }
  const auto is_there = [&](const Operand& operand) { return there.contains(operand.tensor); };
  // Tensors inside are computed again where their operands are there. A mask of dropout cannot be: it is kept.
  for (const OperatorId id : parts.operators) {
    const Operator& part = graph.op(id);
    if (!std::all_of(part.inputs.begin(), part.inputs.end(), is_there)) continue;
    if (part.function == "dropout" && !is_there(part.outputs[1])) continue;
    Pieces read;
    for (const Operand& input : part.inputs) read.push_back(&there.at(input.tensor));
    std::vector<Piece> made = compute(graph, part, ranges, read);
    for (std::size_t i = 0; i < made.size(); ++i) there.try_emplace(part.outputs[i].tensor, std::move(made[i]));
  }
  std::set<TensorId> wanted;  // what leads to an operand whose gradient is asked for
  for (const Operand& output : gradient.outputs) wanted.insert(parts.known_as.at(graph_.tensor(output.tensor).of));
  for (const OperatorId id : parts.operators) {
    const Operator& part = graph.op(id);
    const bool leads = std::any_of(part.inputs.begin(), part.inputs.end(),
                                   [&](const Operand& input) { return wanted.contains(input.tensor); });
    if (!leads) continue;
    for (const Operand& output : part.outputs) wanted.insert(output.tensor);
  }
  for (auto id = parts.operators.rbegin(); id != parts.operators.rend(); ++id) {
    const Operator& part = graph.op(*id);
    Reverse reverse{graph, part, ranges, {}, {}, {}};
    const auto find = [](Environment& in, TensorId tensor) {
      const auto found = in.find(tensor);
      return found == in.end() ? nullptr : &found->second;
    };
    bool any = false;
    for (const Operand& input : part.inputs) reverse.inputs.push_back(find(there, input.tensor));
    for (const Operand& output : part.outputs) {
      reverse.outputs.push_back(find(there, output.tensor));
      reverse.output_gradients.push_back(find(gradients, output.tensor));
      any = any || reverse.output_gradients.back() != nullptr;
    }
    if (!any) continue;
    for (std::size_t i = 0; i < part.inputs.size(); ++i) {
      if (!wanted.contains(part.inputs[i].tensor)) continue;
      contribute(gradients, part.inputs[i].tensor, gradient_of_input(reverse, i));
    }
  }
  std::vector<Piece> out;
  for (const Operand& output : gradient.outputs) {
    out.push_back(gradients.at(parts.known_as.at(graph_.tensor(output.tensor).of)));
  }
  return out;
}

}  // namespace mirfak::interpreter
