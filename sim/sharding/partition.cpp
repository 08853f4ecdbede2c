#include "sharding/partition.hpp"

#include "sharding/propagation.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace mirfak {

namespace {

// Writes the steps of one list (forward, recompute or backward) of a block.
class StepWriter {
 public:
  StepWriter(const OperatorGraph& graph, const DeviceMesh& mesh, const std::vector<Sharding>& shardings)
      : graph_(graph), mesh_(mesh), shardings_(shardings), known_(shardings.begin(), shardings.end()) {}

  void write(OperatorId id) {
    const Operator& op = graph_.op(id);
    const LabelSharding labels = divide_labels(graph_, op, known_);
    BlockStep step;
    step.kind = BlockStep::Kind::kernel;
    step.op = id;
    step.phase = op.phase;
    for (std::size_t axis = 0; axis < kAxes; ++axis) step.local[axis] = graph_.extents[axis] / mesh_.size(labels[axis]);
    for (const Operand& input : op.inputs) add_once(step.after, bring(id, input, labels));
    const int made_by = static_cast<int>(steps_.size());
    const bool free = op.kind == OperatorKind::view;
    if (!free) steps_.push_back(std::move(step));
    for (const Operand& output : op.outputs) {
      settle(id, output, labels, free ? first_of(op) : made_by);
    }
  }

  std::vector<BlockStep> take() { return std::move(steps_); }
  // Mesh axes over which each parameter's gradient is a partial sum.
  const std::map<TensorId, MeshAxisSet>& partial_gradients() const { return partial_gradients_; }

 private:
  static void add_once(std::vector<int>& list, int step) {
    if (step >= 0 && std::find(list.begin(), list.end(), step) == list.end()) list.push_back(step);
  }

  // A view's result is ready when its operand is.
  int first_of(const Operator& view) const {
    const auto found = ready_.find(view.inputs.front().tensor);
    return found == ready_.end() ? -1 : found->second;
  }

  // Makes an input lie as the operator wants it; returns the step after which it does, -1: from the start.
  int bring(OperatorId id, const Operand& input, const LabelSharding& labels) {
    const Sharding& lies = shardings_[static_cast<std::size_t>(input.tensor)];
    const Sharding wanted = operand_sharding(input, labels);
    const auto found = ready_.find(input.tensor);
    const int ready = found == ready_.end() ? -1 : found->second;
    if (lies == wanted) return ready;
    const auto key = std::pair(input.tensor, wanted.axes);
    if (const auto copy = copies_.find(key); copy != copies_.end()) return copy->second;
    return copies_[key] = collectives(id, input.tensor, lies, wanted, ready);
  }

  // Brings an output from how the operator leaves it to its own sharding.
  void settle(OperatorId id, const Operand& output, const LabelSharding& labels, int made_by) {
    const Operator& op = graph_.op(id);
    Sharding made = operand_sharding(output, labels);
    for (const Operand& input : op.inputs) {
      for (const Axis label : input.labels) {
        const bool contracted = std::find(output.labels.begin(), output.labels.end(), label) == output.labels.end();
        if (contracted) made.partial.insert(labels[static_cast<std::size_t>(label)]);
      }
    }
    const Tensor& tensor = graph_.tensor(output.tensor);
    if (tensor.role == TensorRole::parameter_gradient) {
      partial_gradients_[tensor.of].insert(made.partial);
      ready_[output.tensor] = made_by;
      return;
    }
    const Sharding& wanted = shardings_[static_cast<std::size_t>(output.tensor)];
    ready_[output.tensor] = made == wanted ? made_by : collectives(id, output.tensor, made, wanted, made_by);
  }

  int collectives(OperatorId id, TensorId tensor, const Sharding& from, const Sharding& to, int after) {
    for (const ReshardStep& reshard_step : reshard(graph_, tensor, from, to, mesh_)) {
      BlockStep step;
      step.kind = BlockStep::Kind::collective;
      step.op = id;
      step.phase = graph_.op(id).phase;
      step.collective = reshard_step.kind;
      step.over = reshard_step.over;
      step.bytes = reshard_step.bytes;
      step.tensor = tensor;
      if (after >= 0) step.after.push_back(after);
      after = static_cast<int>(steps_.size());
      steps_.push_back(std::move(step));
    }
    return after;
  }

  const OperatorGraph& graph_;
  const DeviceMesh& mesh_;
  const std::vector<Sharding>& shardings_;
  std::vector<std::optional<Sharding>> known_;
  std::vector<BlockStep> steps_;
  std::map<TensorId, int> ready_;                                        // step after which a tensor lies as it should
  std::map<std::pair<TensorId, std::vector<MeshAxisSet>>, int> copies_;  // resharded copies and their step
  std::map<TensorId, MeshAxisSet> partial_gradients_;
};

double total_bytes(const PartitionedBlock& block, const DeviceMesh& mesh, const std::set<TensorId>& tensors) {
  double bytes = 0;
  for (const TensorId id : tensors) {
    bytes += local_bytes(block.graph, id, block.shardings[static_cast<std::size_t>(id)], mesh);
  }
  return bytes;
}

void add_parameters(PartitionedBlock& block, const DeviceMesh& mesh, const std::map<TensorId, MeshAxisSet>& partial) {
  for (std::size_t id = 0; id < block.graph.tensors.size(); ++id) {
    if (block.graph.tensors[id].role != TensorRole::parameter) continue;
    const auto tensor = static_cast<TensorId>(id);
    const double bytes = local_bytes(block.graph, tensor, block.shardings[id], mesh);
    const auto found = partial.find(tensor);
    block.parameters.push_back({tensor, bytes / block.graph.tensors[id].bytes_per_element,
                                found == partial.end() ? MeshAxisSet() : found->second});
  }
}

}  // namespace

PartitionedBlock partition(OperatorGraph graph, const DeviceMesh& mesh, std::span<const AxisRule> rules,
                           std::span<const TensorId> dropped) {
  PartitionedBlock block;
  block.graph = std::move(graph);
  block.shardings = propagate(block.graph, rules);

  StepWriter forward(block.graph, mesh, block.shardings);
  StepWriter backward(block.graph, mesh, block.shardings);
  for (std::size_t id = 0; id < block.graph.operators.size(); ++id) {
    const bool is_forward = block.graph.operators[id].phase == Phase::forward;
    (is_forward ? forward : backward).write(static_cast<OperatorId>(id));
  }
  StepWriter recompute(block.graph, mesh, block.shardings);
  const ActivationPlan plan = plan_activations(block.graph, dropped);
  std::set<TensorId> recomputed;
  for (const OperatorId id : plan.recomputed) {
    recompute.write(id);
    if (block.graph.op(id).kind == OperatorKind::view) continue;
    for (const Operand& output : block.graph.op(id).outputs) recomputed.insert(output.tensor);
  }
  block.forward = forward.take();
  block.recompute = recompute.take();
  block.backward = backward.take();
  add_parameters(block, mesh, backward.partial_gradients());
  block.kept = plan.kept;
  block.kept_bytes = total_bytes(block, mesh, {plan.kept.begin(), plan.kept.end()});
  block.recomputed_bytes = total_bytes(block, mesh, recomputed);
  const TensorId boundary = block.graph.output >= 0 ? block.graph.output : block.graph.input;
  block.residual_bytes = total_bytes(block, mesh, {boundary});
  return block;
}

}  // namespace mirfak
