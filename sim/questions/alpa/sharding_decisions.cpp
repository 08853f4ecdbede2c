#include "alpa/sharding_decisions.hpp"

#include "alpa/logical_mesh.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace mirfak::alpa {

namespace {

// Returns true for the kinds of operators with little work: one pass through memory.
bool follows(const Operator& op) {
  switch (op.kind) {
    case OperatorKind::elementwise:
    case OperatorKind::view:
    case OperatorKind::normalization:
    case OperatorKind::softmax:
    case OperatorKind::reduction:
      return true;
    default:
      return false;
  }
}

bool is_weight(const Tensor& tensor) {
  return tensor.role == TensorRole::parameter || tensor.role == TensorRole::parameter_gradient;
}

template <typename Visit>
void for_operands(const Operator& op, const Visit& visit) {
  for (const Operand& operand : op.inputs) visit(operand);
  for (const Operand& operand : op.outputs) visit(operand);
}

std::vector<Axis> labels_of(const Operator& op) {
  std::vector<Axis> out;
  for_operands(op, [&](const Operand& operand) {
    for (const Axis label : operand.labels) {
      if (std::find(out.begin(), out.end(), label) == out.end()) out.push_back(label);
    }
  });
  return out;
}

// Returns true if a kernel that goes over elements one by one cannot divide an axis: the axis must be in the results if
// it is in the operands, and vice versa, because parts of a packed tensor do not lie as the whole tensor does.
bool lost_on_the_way(const Operator& op, Axis label) {
  if (op.kind != OperatorKind::elementwise && op.kind != OperatorKind::view) return false;
  const auto has = [&](const Operand& operand) { return operand.labels.contains(label); };
  const bool read = std::any_of(op.inputs.begin(), op.inputs.end(), has);
  const bool read_by_all = std::all_of(op.inputs.begin(), op.inputs.end(), has);
  const bool written = std::all_of(op.outputs.begin(), op.outputs.end(), has);
  return !written || (op.kind == OperatorKind::view ? !read_by_all : !read);
}

// Share of a block's largest parameter below which a parameter is not worth a decision.
constexpr double kSmall = 1e-2;

// All ways to divide some axes over the mesh: each mesh axis divides one of the axes or none.
class Divisions {
 public:
  Divisions(const OperatorGraph& graph, const DeviceMesh& mesh) : graph_(graph), mesh_(mesh) {}

  // `allowed`: the mesh axes that may divide an axis; null: all mesh axes.
  std::vector<LabelSharding> of(const std::vector<Axis>& axes, const AxisDivision* allowed) const {
    LabelSharding whole;
    whole.resize(graph_.axes.size());
    std::vector<LabelSharding> out = {whole};
    for (const MeshAxis mesh_axis : {kRows, kColumns}) {
      if (mesh_.size(mesh_axis) == 1) continue;
      const std::size_t before = out.size();
      for (std::size_t i = 0; i < before; ++i) {
        for (const Axis axis : axes) {
          if (allowed != nullptr && !mesh_axes_of(axis, *allowed).contains(mesh_axis)) continue;
          LabelSharding divided = out[i];
          divided[index_of(axis)].insert(mesh_axis);
          if (graph_.extent(axis) % mesh_.size(divided[index_of(axis)]) == 0) out.push_back(divided);
        }
      }
    }
    return out;
  }

  MeshAxisSet mesh_axes_of(Axis axis, const AxisDivision& division) const {
    const auto found = division.find(graph_.divided_by(axis));
    return found == division.end() ? MeshAxisSet() : found->second;
  }

  // Returns the mesh axes of `division` that can divide the axis together, taken in the order of the mesh.
  MeshAxisSet full_division(Axis axis, const AxisDivision& division) const {
    MeshAxisSet out;
    for (const MeshAxis mesh_axis : mesh_axes_of(axis, division)) {
      MeshAxisSet more = out;
      more.insert(mesh_axis);
      if (mesh_.size(mesh_axis) > 1 && graph_.extent(axis) % mesh_.size(more) == 0) out = more;
    }
    return out;
  }

 private:
  const OperatorGraph& graph_;
  const DeviceMesh& mesh_;
};

class Builder {
 public:
  Builder(const OperatorGraph& graph, const DeviceMesh& mesh, const DecisionOptions& options)
      : graph_(graph), options_(options), divisions_(graph, mesh), joined_(graph.tensors.size()) {
    std::iota(joined_.begin(), joined_.end(), 0);
    out_.of_operator.assign(graph.operators.size(), -1);
    out_.of_tensor.assign(graph.tensors.size(), -1);
    for (const Tensor& tensor : graph.tensors) {
      if (is_weight(tensor)) largest_weight_ = std::max(largest_weight_, elements(tensor));
    }
  }

  ShardingDecisions build() {
    for (const Operator& op : graph_.operators) out_.dividable.push_back(dividable(op));
    join_tensors();
    decide_tensors();
    for (std::size_t id = 0; id < graph_.operators.size(); ++id) decide(static_cast<OperatorId>(id));
    return std::move(out_);
  }

 private:
  bool may_divide(Axis axis) const {
    return graph_.extent(axis) > 1 && (options_.every_axis || graph_.divided_by(axis) != Parallelism::none);
  }

  std::vector<Axis> dividable(const Operator& op) const {
    std::vector<Axis> out;
    for (const Axis label : labels_of(op)) {
      if (may_divide(label) && !must_be_whole(op, label) && !lost_on_the_way(op, label)) out.push_back(label);
    }
    return out;
  }

  std::vector<Axis> dividable(const Tensor& tensor) const {
    std::vector<Axis> out;
    for (const Axis axis : tensor.axes) {
      if (is_weight(tensor) && !is_small(tensor) ? graph_.extent(axis) > 1 : may_divide(axis)) out.push_back(axis);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  double elements(const Tensor& tensor) const {
    double product = 1;
    for (const Axis axis : tensor.axes) product *= static_cast<double>(graph_.extent(axis));
    return product;
  }
  bool is_small(const Tensor& weight) const { return elements(weight) < kSmall * largest_weight_; }

  TensorId first(TensorId id) const {
    while (joined_[static_cast<std::size_t>(id)] != id) id = joined_[static_cast<std::size_t>(id)];
    return id;
  }
  // Makes two tensors lie alike if the same axes of both may be divided.
  void join(TensorId a, TensorId b) {
    const Tensor& left = graph_.tensor(a);
    const Tensor& right = graph_.tensor(b);
    if (is_weight(left) || is_weight(right) || dividable(left) != dividable(right)) return;
    const TensorId one = first(a);
    const TensorId other = first(b);
    joined_[static_cast<std::size_t>(std::max(one, other))] = std::min(one, other);
  }

  // Returns the tensor whose sharding an operator follows: its result, unless that is the gradient of a parameter or
  // has lost axes; else the largest tensor that it reads.
  TensorId followed(const Operator& op) const {
    const Operand& output = op.outputs.front();
    TensorId best = -1;
    const auto axes = [&](TensorId id) { return dividable(graph_.tensor(id)).size(); };
    if (!is_weight(graph_.tensor(output.tensor))) best = output.tensor;
    for (const Operand& input : op.inputs) {
      if (is_weight(graph_.tensor(input.tensor))) continue;
      if (best < 0 || axes(input.tensor) > axes(best)) best = input.tensor;
    }
    return best;
  }

  void join_tensors() {
    for (const Operator& op : graph_.operators) {
      if (!follows(op)) continue;
      const TensorId leader = followed(op);
      if (leader < 0) continue;
      for_operands(op, [&](const Operand& operand) { join(leader, operand.tensor); });
    }
    for (std::size_t id = 0; id < graph_.tensors.size(); ++id) {
      const TensorId of = graph_.tensors[id].of;
      if (of >= 0 && options_.gradients_follow) join(static_cast<TensorId>(id), of);
    }
    for (std::size_t i = 0; options_.repeats && i < std::min(graph_.inputs.size(), graph_.outputs.size()); ++i) {
      join(graph_.inputs[i], graph_.outputs[i]);
    }
  }

  int add(std::string name, std::vector<LabelSharding> choices) {
    out_.decisions.push_back({std::move(name), std::move(choices), {}});
    return static_cast<int>(out_.decisions.size()) - 1;
  }

  void decide_tensors() {
    std::set<TensorId> used;
    for (const Operator& op : graph_.operators) {
      for_operands(op, [&](const Operand& operand) { used.insert(operand.tensor); });
    }
    for (const TensorId id : used) {
      const Tensor& tensor = graph_.tensor(id);
      const auto place = static_cast<std::size_t>(id);
      if (tensor.role == TensorRole::parameter_gradient) continue;
      const TensorId leader = first(id);
      int& leading = leaders_.try_emplace(leader, -1).first->second;
      if (leading < 0) leading = tensor.role == TensorRole::parameter ? add_parameter(tensor) : add_tensor(id);
      out_.of_tensor[place] = leading;
    }
    if (options_.stream || options_.streams_divided) hold_streams();
  }

  const AxisDivision* of_tensors() const { return options_.rules ? &options_.rules->tensors : nullptr; }
  const AxisDivision* of_operators() const { return options_.rules ? &options_.rules->operators : nullptr; }

  int add_tensor(TensorId id) {
    const Tensor& tensor = graph_.tensor(id);
    return add(tensor.name, divisions_.of(dividable(tensor), of_tensors()));
  }

  int add_parameter(const Tensor& tensor) {
    std::vector<Reduction> reductions = {Reduction::whole};
    const bool divides_state = options_.divides_state && !tensor.frozen && !is_small(tensor);
    if (divides_state) reductions.push_back(Reduction::scattered);
    if (divides_state && options_.many_passes) reductions.push_back(Reduction::every_pass);
    const std::vector<LabelSharding> divisions = divisions_.of(dividable(tensor), of_tensors());
    std::vector<LabelSharding> choices;
    std::vector<Reduction> by_choice;
    for (const LabelSharding& division : divisions) {
      for (const Reduction reduction : reductions) {
        choices.push_back(division);
        by_choice.push_back(reduction);
      }
    }
    const int decision = add(tensor.name, std::move(choices));
    out_.decisions.back().reductions = std::move(by_choice);
    return decision;
  }

  void hold_streams() {
    for (const std::vector<TensorId>* streams : {&graph_.inputs, &graph_.outputs}) {
      for (const TensorId id : *streams) {
        const int decision = out_.of_tensor[static_cast<std::size_t>(id)];
        if (decision < 0) continue;
        std::erase_if(out_.decisions[static_cast<std::size_t>(decision)].choices,
                      [&](const LabelSharding& choice) { return !lies_as_held(id, choice); });
      }
    }
  }

  bool lies_as_held(TensorId id, const LabelSharding& choice) const {
    const AxisLabels& axes = graph_.tensor(id).axes;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const MeshAxisSet held =
          options_.stream ? options_.stream->axes[i] : divisions_.full_division(axes[i], *options_.streams_divided);
      if (choice[index_of(axes[i])] != held) return false;
    }
    return true;
  }

  void decide(OperatorId id) {
    const Operator& op = graph_.op(id);
    int& decision = out_.of_operator[static_cast<std::size_t>(id)];
    if (const OperatorId product = adds_to_buffer(op); product >= 0) {
      decision = out_.of_operator[static_cast<std::size_t>(product)];
      out_.dividable[static_cast<std::size_t>(id)] = out_.dividable[static_cast<std::size_t>(product)];
    } else if (const TensorId leader = follows(op) ? followed(op) : -1; leader >= 0) {
      decision = out_.of_tensor[static_cast<std::size_t>(leader)];
    } else if (const OperatorId forward = belongs_to(op); forward >= 0) {
      decision = out_.of_operator[static_cast<std::size_t>(forward)];
      narrow(decision, id);
    } else {
      decision = add(op.name, divisions_.of(out_.dividable[static_cast<std::size_t>(id)], of_operators()));
    }
    for (const Operand& output : op.outputs) {
      if (graph_.tensor(output.tensor).role != TensorRole::parameter_gradient) continue;
      out_.of_tensor[static_cast<std::size_t>(output.tensor)] = decision;
    }
  }

  // Returns the operator that made the product which this operator adds to the buffer of a parameter's gradient; -1: it
  // adds none.
  OperatorId adds_to_buffer(const Operator& op) const {
    for (const Operand& input : op.inputs) {
      const Tensor& tensor = graph_.tensor(input.tensor);
      if (tensor.role != TensorRole::parameter_gradient) continue;
      for (std::size_t id = 0; id < graph_.operators.size() && &graph_.operators[id] != &op; ++id) {
        const std::vector<Operand>& made = graph_.operators[id].outputs;
        const bool maker =
            std::any_of(made.begin(), made.end(), [&](const Operand& output) { return output.tensor == input.tensor; });
        if (maker) return static_cast<OperatorId>(id);
      }
    }
    return -1;
  }

  // Returns the forward operator whose gradient this operator computes: of the same kind, with all tensors that this
  // operator reads or writes, or whose gradients it reads or writes; -1: none.
  OperatorId belongs_to(const Operator& op) const {
    if (!options_.gradients_follow || op.phase == Phase::forward || op.phase == Phase::update) return -1;
    const OperatorKind kind = op.kind == OperatorKind::scatter ? OperatorKind::gather : op.kind;
    for (std::size_t id = 0; id < graph_.operators.size(); ++id) {
      const Operator& forward = graph_.operators[id];
      if (forward.phase != Phase::forward || forward.kind != kind) continue;
      std::set<TensorId> known(forward.saved.begin(), forward.saved.end());
      for_operands(forward, [&](const Operand& operand) { known.insert(operand.tensor); });
      bool all = true;
      for_operands(op, [&](const Operand& operand) {
        const TensorId of = graph_.tensor(operand.tensor).of;
        all = all && known.contains(of >= 0 ? of : operand.tensor);
      });
      if (all) return static_cast<OperatorId>(id);
    }
    return -1;
  }

  // Removes the choices that a gradient operator cannot follow.
  void narrow(int decision, OperatorId gradient) {
    const std::vector<Axis>& able = out_.dividable[static_cast<std::size_t>(gradient)];
    const std::vector<Axis> used = labels_of(graph_.op(gradient));
    std::erase_if(out_.decisions[static_cast<std::size_t>(decision)].choices, [&](const LabelSharding& choice) {
      return std::any_of(used.begin(), used.end(), [&](Axis label) {
        return !choice[index_of(label)].empty() && std::find(able.begin(), able.end(), label) == able.end();
      });
    });
  }

  const OperatorGraph& graph_;
  const DecisionOptions& options_;
  Divisions divisions_;
  std::vector<TensorId> joined_;  // for each tensor, one that it lies like: itself or an earlier one
  std::map<TensorId, int> leaders_;
  double largest_weight_ = 0;  // elements
  ShardingDecisions out_;
};

}  // namespace

LabelSharding ShardingDecisions::labels(const OperatorGraph& graph, OperatorId op, int choice) const {
  LabelSharding out;
  out.resize(graph.axes.size());
  const auto id = static_cast<std::size_t>(op);
  const LabelSharding& chosen =
      decisions[static_cast<std::size_t>(of_operator[id])].choices[static_cast<std::size_t>(choice)];
  for (const Axis label : dividable[id]) out[index_of(label)] = chosen[index_of(label)];
  return out;
}

Sharding ShardingDecisions::sharding(const OperatorGraph& graph, TensorId tensor, int choice) const {
  Sharding out;
  const auto id = static_cast<std::size_t>(tensor);
  const LabelSharding& chosen =
      decisions[static_cast<std::size_t>(of_tensor[id])].choices[static_cast<std::size_t>(choice)];
  for (const Axis axis : graph.tensor(tensor).axes) out.axes.push_back(chosen[index_of(axis)]);
  return out;
}

ShardingDecisions sharding_decisions(const OperatorGraph& graph, const DeviceMesh& mesh,
                                     const DecisionOptions& options) {
  return Builder(graph, mesh, options).build();
}

bool makes_parameter_gradient(const OperatorGraph& graph, const Operator& op, const Operand& output) {
  if (graph.tensor(output.tensor).role != TensorRole::parameter_gradient) return false;
  return std::none_of(op.inputs.begin(), op.inputs.end(), [&](const Operand& input) {
    return graph.tensor(input.tensor).role == TensorRole::parameter_gradient;
  });
}

}  // namespace mirfak::alpa
