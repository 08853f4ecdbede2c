// Completion by refinement. Every axis of every tensor starts undivided and open; annotations divide some axes and
// close them. An operator then carries the mesh axes that divide one operand's axis to the same label of another
// operand, along
//
//   elementwise operators  in all directions: inputs lie as outputs
//   all others             from operands to results, then from results (and other operands) to operands
//
// in this order, always starting again at the first of these steps that has work left. Example, within-layer sharding
// of an MLP, u = gelu(x w1), y = u w2, with w1: (hidden, ffn@tensor) alone: the product's result is divided along ffn,
// and so is the result of the gelu; nothing else goes forward, since y has no ffn. Backward, w2 is divided along ffn
// like the operand that it is multiplied with, and y is left a partial sum. Axes are only ever divided further, so this
// ends.

#include "sharding/completion.hpp"

#include "sharding/halo.hpp"
#include "sharding/propagation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace mirfak {

namespace {

using OperandPointers = std::vector<const Operand*>;

// Returns the operands in the order in which they decide: parameters come first, because they do not move; results come
// last, because they can still be placed elsewhere.
OperandPointers in_order(const OperatorGraph& graph, const Operator& op) {
  OperandPointers out;
  const auto add = [&](const std::vector<Operand>& operands, bool parameters) {
    for (const Operand& operand : operands) {
      if (is_parameter(graph, operand.tensor) == parameters) out.push_back(&operand);
    }
  };
  const Operator& guide = op.divided_as >= 0 ? graph.op(op.divided_as) : op;
  add(guide.inputs, true);
  add(guide.outputs, true);
  add(op.inputs, false);
  add(op.outputs, false);
  return out;
}

// Sharding of one tensor as far as it is known.
struct Completed {
  Sharding sharding;
  std::uint16_t closed = 0;  // bits of axes that stay as they are
  MeshAxisSet used;          // mesh axes that divide any axis
  bool reached = false;      // annotated, or visited by an operator, even if nothing divides the tensor
  std::array<const Annotation*, 2> said_by{};  // the annotations of this tensor

  bool is_closed(std::size_t axis) const { return (closed >> axis & 1U) != 0; }
  void close(std::size_t axis) { closed = static_cast<std::uint16_t>(closed | 1U << axis); }
  bool divide(std::size_t axis, MeshAxisSet by) {
    by.erase(used);
    if (by.empty()) return false;
    sharding.axes[axis].insert(by);
    used.insert(by);
    return true;
  }
};

class Completer {
 public:
  Completer(const OperatorGraph& graph, const DeviceMesh& mesh) : graph_(graph), known_(graph.tensors.size()) {
    for (const MeshAxis axis : mesh.axes()) {
      if (mesh.size(axis) > 1) divides_.insert(axis);
    }

    for (std::size_t id = 0; id < known_.size(); ++id) known_[id].sharding.axes.resize(graph.tensors[id].axes.size());
    users_.resize(graph.tensors.size());
    operands_.resize(graph.operators.size());
    for (std::size_t id = 0; id < graph.operators.size(); ++id) {
      const Operator& op = graph.operators[id];
      if (op.phase != Phase::forward) continue;
      operands_[id] = in_order(graph, op);
      for (const Operand* operand : operands_[id]) {
        std::vector<OperatorId>& users = users_[static_cast<std::size_t>(operand->tensor)];
        if (users.empty() || users.back() != static_cast<OperatorId>(id)) users.push_back(static_cast<OperatorId>(id));
      }
    }
  }

  void annotate(const Annotation& annotation) {
    Completed& known = of(annotation.tensor);
    for (std::size_t i = 0; i < annotation.axes.size(); ++i) {
      if (!annotation.axes[i]) continue;
      const MeshAxisSet says = annotation.axes[i]->common(divides_);
      const bool differs = known.is_closed(i) && known.sharding.axes[i] != says;
      if (differs || (!known.is_closed(i) && known.used.intersects(says))) contradict(annotation, known, i);
      known.close(i);
      known.divide(i, says);
    }
    known.reached = true;
    (known.said_by[0] == nullptr ? known.said_by[0] : known.said_by[1]) = &annotation;
    wake_users(annotation.tensor);
  }

  void propagate() {
    while (!waiting_.empty()) {
      const auto [way, id] = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      const Operator& op = graph_.op(id);
      if (!may_go(way, op)) continue;
      if (way != Way::backward) refine_all(id, op.outputs);
      if (way != Way::forward) refine_all(id, op.inputs);
    }
  }

  // Returns the shardings: gradients lie as their tensors; other results of gradient operators follow from their
  // operands.
  std::vector<Sharding> take() {
    for (std::size_t id = 0; id < known_.size(); ++id) {
      const TensorId tensor = graph_.tensors[id].of;
      if (tensor >= 0) follow(known_[id], of(tensor));
    }
    step_together();
    for (const Operator& op : graph_.operators) {
      if (op.phase == Phase::forward) continue;
      const OperandPointers operands = in_order(graph_, op);
      for (const Operand& output : op.outputs) {
        if (graph_.tensor(output.tensor).of < 0) refine(op, output, operands);
      }
    }
    std::vector<Sharding> out;
    out.reserve(known_.size());
    for (const Completed& known : known_) out.push_back(known.sharding);
    return out;
  }

 private:
  // Directions of propagation, in the order in which they are processed.
  enum class Way : std::uint8_t {
    pointwise,  // both ways
    forward,    // operators that are not pointwise
    backward,
    late,  // pointwise operators again, once no other source of knowledge is left
  };

  Completed& of(TensorId id) { return known_[static_cast<std::size_t>(id)]; }

  bool is_reached(const Operand& operand) const { return known_[static_cast<std::size_t>(operand.tensor)].reached; }

  bool may_go(Way way, const Operator& op) const {
    const auto reached = [this](const Operand& operand) { return is_reached(operand); };
    switch (way) {
      case Way::pointwise:
        return tells_of_activations(op) && !waits_for_input(op);
      case Way::forward:
        return std::any_of(op.inputs.begin(), op.inputs.end(), reached);
      default:
        return true;
    }
  }

  bool tells_of_activations(const Operator& op) const {
    const auto tells = [this](const Operand& operand) {
      return is_reached(operand) && !is_parameter(graph_, operand.tensor);
    };
    return std::any_of(op.inputs.begin(), op.inputs.end(), tells) ||
           std::any_of(op.outputs.begin(), op.outputs.end(), tells);
  }

  // True if an elementwise operator must wait for an unknown input: the other operands say nothing about axes that only
  // this input has. Example: weights of experts' rows do not tell how the inner size of an expert is divided; the
  // product that makes the other input does.
  bool waits_for_input(const Operator& op) const {
    if (op.kind != OperatorKind::elementwise) return false;
    AxisSet told;
    for (const std::vector<Operand>* operands : {&op.inputs, &op.outputs}) {
      for (const Operand& operand : *operands) {
        if (is_parameter(graph_, operand.tensor) || !is_reached(operand)) continue;
        for (const Axis label : operand.labels) told.insert(label);
      }
    }
    return std::any_of(op.inputs.begin(), op.inputs.end(), [&](const Operand& input) {
      if (is_parameter(graph_, input.tensor) || is_reached(input)) return false;
      return !AxisSet(input.labels).without(told).empty();
    });
  }

  void refine_all(OperatorId id, const std::vector<Operand>& operands) {
    for (const Operand& operand : operands) {
      const bool refined = refine(graph_.op(id), operand, operands_[static_cast<std::size_t>(id)]);
      const bool was_reached = std::exchange(of(operand.tensor).reached, true);
      if (refined || !was_reached) wake_users(operand.tensor);
    }
  }

  // Gives all gradients of one parameter (one for each operator that reads the parameter, and the buffer that
  // accumulates them) the sharding of a gradient that has an annotation.
  void step_together() {
    for (std::size_t id = 0; id < known_.size(); ++id) {
      if (graph_.tensors[id].role != TensorRole::parameter_gradient || known_[id].said_by[0] == nullptr) continue;
      for (std::size_t other = 0; other < known_.size(); ++other) {
        const bool same = graph_.tensors[other].role == TensorRole::parameter_gradient &&
                          graph_.tensors[other].of == graph_.tensors[id].of;
        if (same && known_[other].said_by[0] == nullptr) known_[other].sharding = known_[id].sharding;
      }
    }
  }

  static void follow(Completed& gradient, const Completed& tensor) {
    for (std::size_t i = 0; i < tensor.sharding.axes.size(); ++i) {
      if (!gradient.is_closed(i)) gradient.divide(i, tensor.sharding.axes[i]);
    }
  }

  void wake_users(TensorId tensor) {
    for (const OperatorId id : users_[static_cast<std::size_t>(tensor)]) {
      if (is_pointwise(graph_.op(id))) {
        waiting_.emplace(Way::pointwise, id);
        waiting_.emplace(Way::late, id);
      } else {
        waiting_.emplace(Way::forward, id);
        waiting_.emplace(Way::backward, id);
      }
    }
  }

  // Divides the axes of `target` as the same labels of the other operands are divided. Returns true on a change.
  bool refine(const Operator& op, const Operand& target, const OperandPointers& operands) {
    Completed& known = of(target.tensor);
    bool changed = false;
    for (const Operand* source : operands) {
      if (source == &target) continue;
      const Sharding& sharding = of(source->tensor).sharding;
      for (std::size_t i = 0; i < target.labels.size(); ++i) {
        const Axis label = dividing_label(target, i);
        if (known.is_closed(i) || whole_with_halos(op, label)) continue;
        for (std::size_t j = 0; j < source->labels.size(); ++j) {
          const bool further = dividing_label(*source, j) == label && sharding.axes[j].contains(known.sharding.axes[i]);
          if (further && known.divide(i, sharding.axes[j])) changed = true;
        }
      }
    }
    return changed;
  }

  [[noreturn]] void contradict(const Annotation& annotation, const Completed& known, std::size_t axis) const {
    const Tensor& tensor = graph_.tensor(annotation.tensor);
    const Annotation* other = known.said_by[0];
    const std::string& axis_name = graph_.info(tensor.axes[axis]).name;
    if (other == nullptr) {
      fail_input(annotation.at,
                 fmt::format("'{}' divides two axes of {} over one mesh axis", annotation.text, tensor.name),
                 "a mesh axis divides one axis of a tensor at most");
    }
    fail_input(
        annotation.at,
        fmt::format("'{}' contradicts '{}' on axis {} of {}", annotation.text, other->text, axis_name, tensor.name),
        "state each axis of a tensor once, and a mesh axis on one of them at most");
  }

  const OperatorGraph& graph_;
  MeshAxisSet divides_;                         // mesh axes with more than one device
  std::vector<Completed> known_;                // by TensorId
  std::vector<std::vector<OperatorId>> users_;  // by TensorId: forward operators that read or write it
  std::vector<OperandPointers> operands_;       // by OperatorId, forward operators only
  std::set<std::pair<Way, OperatorId>> waiting_;
};

// Counts, for each mesh axis and each label of an operator, the operands that the mesh axis divides along the label.
class LabelVotes {
 public:
  void add(MeshAxis mesh, Axis label) {
    for (Vote& vote : votes_) {
      if (vote.mesh == mesh && vote.label == label) {
        ++vote.count;
        return;
      }
    }
    votes_.push_back({mesh, label, 1});
  }

  LabelSharding decide(std::size_t axes) const {
    LabelSharding out;
    out.resize(axes);
    for (std::size_t i = 0; i < votes_.size(); ++i) {
      const auto beats = [&](const Vote& other) {
        return other.mesh == votes_[i].mesh &&
               (other.count > votes_[i].count || (other.count == votes_[i].count && &other < &votes_[i]));
      };
      if (std::none_of(votes_.begin(), votes_.end(), beats)) out[index_of(votes_[i].label)].insert(votes_[i].mesh);
    }
    return out;
  }

 private:
  struct Vote {
    MeshAxis mesh{};
    Axis label{};
    int count = 0;
  };
  std::vector<Vote> votes_;
};

// True if the sum of a parameter's gradient is scattered after the operator, independent of the labels that the
// operator divides. That holds where the gradient lies otherwise than the parameter (for the optimizer's step), and
// where the operator reads a tensor larger than the gradient.
bool is_summed_behind(const OperatorGraph& graph, const Operator& op, TensorId result,
                      const std::vector<Sharding>& tensors) {
  const Tensor& tensor = graph.tensor(result);
  if (tensor.role != TensorRole::parameter_gradient) return false;
  if (tensors[static_cast<std::size_t>(result)] != tensors[static_cast<std::size_t>(tensor.of)]) return true;
  return std::any_of(op.inputs.begin(), op.inputs.end(),
                     [&](const Operand& input) { return graph.bytes(input.tensor) > graph.bytes(result); });
}

LabelSharding voted_labels(const OperatorGraph& graph, const Operator& op, const std::vector<Sharding>& tensors) {
  LabelVotes votes;
  const auto vote = [&](const Operand& operand) {
    const Sharding& sharding = tensors[static_cast<std::size_t>(operand.tensor)];
    for (std::size_t i = 0; i < operand.labels.size(); ++i) {
      const Axis label = dividing_label(operand, i);
      if (sharding.axes[i].empty() || whole_with_halos(op, label)) continue;
      for (const MeshAxis mesh : sharding.axes[i]) votes.add(mesh, label);
    }
  };
  OperandPointers last;
  for (const Operand* operand : in_order(graph, op)) {
    if (is_summed_behind(graph, op, operand->tensor, tensors)) {
      last.push_back(operand);
    } else {
      vote(*operand);
    }
  }
  for (const Operand* operand : last) vote(*operand);
  LabelSharding labels = votes.decide(graph.axes.size());
  for (const std::vector<Operand>* operands : {&op.inputs, &op.outputs}) {
    for (const Operand& operand : *operands) {
      for (const Window& window : operand.windows) {
        labels[index_of(operand.labels[window.position])] = labels[index_of(window.step)];
      }
    }
  }
  return labels;
}

// Returns labels that leave the buffer of an iteration with the sharding of the gradients that microbatches add to it.
LabelSharding labels_of(const OperatorGraph& graph, const Operand& operand, const Sharding& sharding) {
  LabelSharding out;
  out.resize(graph.axes.size());
  for (std::size_t i = 0; i < operand.labels.size(); ++i) out[index_of(operand.labels[i])] = sharding.axes[i];
  return out;
}

}  // namespace

ShardingPlan complete(const OperatorGraph& graph, const DeviceMesh& mesh, std::span<const Annotation> annotations,
                      std::span<const AxisRule> choices) {
  Completer completer(graph, mesh);
  for (const Annotation& annotation : annotations) completer.annotate(annotation);
  completer.propagate();
  ShardingPlan plan;
  plan.tensors = completer.take();
  plan.by_compiler = true;
  plan.operators.reserve(graph.operators.size());
  std::map<TensorId, Sharding> left;  // shardings in which operators leave gradients of parameters
  for (const Operator& op : graph.operators) {
    plan.operators.push_back(voted_labels(graph, op, plan.tensors));
    LabelSharding& labels = plan.operators.back();
    follow_rules(graph, op, mesh, choices, labels);
    for (const Operand& input : op.inputs) {
      if (left.contains(input.tensor)) labels = labels_of(graph, input, left.at(input.tensor));
    }
    for (const Operand& output : op.outputs) {
      const bool of_parameter = graph.tensor(output.tensor).role == TensorRole::parameter_gradient;
      if (of_parameter) left[output.tensor] = operand_sharding(output, labels);
    }
  }
  return plan;
}

std::vector<Annotation> annotations_of(const OperatorGraph& graph, std::span<const AxisRule> rules) {
  const std::vector<std::optional<Sharding>> shardings = annotated_shardings(graph, rules);
  std::vector<Annotation> out;
  for (std::size_t id = 0; id < shardings.size(); ++id) {
    if (!shardings[id]) continue;
    Annotation annotation;
    annotation.tensor = static_cast<TensorId>(id);
    for (const MeshAxisSet axes : shardings[id]->axes) annotation.axes.push_back(axes);
    annotation.text = "rules for " + graph.tensors[id].name;
    out.push_back(annotation);
  }
  return out;
}

}  // namespace mirfak
