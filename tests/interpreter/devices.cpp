#include "interpreter/devices.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak::interpreter {

namespace {

bool has_no_step(const Operator& op) { return op.kind == OperatorKind::view || op.part_of_kernel; }

// True for sums of gradients: if an operand is a part of a sum, so is the result.
bool adds(const Operator& op) {
  if (op.kind != OperatorKind::elementwise || op.gradient_of >= 0 || op.inputs.size() != 2) return false;
  return op.phase == Phase::weight_gradient || (op.phase == Phase::activation_gradient && op.function == "add");
}

bool is_gradient(const OperatorGraph& graph, const Operand& operand) {
  return graph.tensor(operand.tensor).role == TensorRole::gradient;
}

// Makes gradients of one gradient, and so parts of a sum of parts of a sum.
bool passes_sums_on(const OperatorGraph& graph, const Operator& op) {
  const auto gradient = [&](const Operand& operand) { return is_gradient(graph, operand); };
  return op.phase != Phase::forward && std::count_if(op.inputs.begin(), op.inputs.end(), gradient) == 1;
}

}  // namespace

Devices::Devices(const DividedProgram& program, const Layout& layout, Proof& proof)
    : program_(program), layout_(layout), proof_(proof) {}

MeshAxisSet Devices::used(MeshAxisSet axes) const {
  MeshAxisSet out;
  for (const MeshAxis axis : axes) {
    if (program_.mesh.size(axis) > 1) out.insert(axis);
  }
  return out;
}

void Devices::fail(OperatorId id, const std::string& message) const {
  fail_internal(fmt::format("{}: {}", graph().op(id).name, message));
}

void Devices::run(const std::vector<BlockStep>& steps, const std::set<OperatorId>& operators) {
  waiting_.clear();
  for (const OperatorId id : operators) {
    if (has_no_step(graph().op(id))) waiting_.insert(id);
  }
  std::size_t next = 0;  // step
  const auto of_loop = [&](const BlockStep& step) {
    if (step.kind == BlockStep::Kind::kernel) return step.pieces > 1;
    return step.collective == CollectiveKind::shift && step.from == step.to && !is_of_edges(step);
  };
  const auto steps_while = [&](const auto& belongs) {
    std::size_t end = next;
    while (end < steps.size() && steps[end].op == steps[next].op && belongs(steps[end])) ++end;
    const std::span<const BlockStep> out = std::span(steps).subspan(next, end - next);
    next = end;
    return out;
  };
  OperatorId before = -1;
  while (next < steps.size()) {
    const BlockStep& step = steps[next];
    if (before >= 0 && before != step.op) settle(before);
    before = step.op;
    if (of_loop(step)) {
      run_loop(steps_while(of_loop));
      continue;
    }
    if (is_of_edges(step)) {
      run_edges(steps_while([&](const BlockStep& other) { return is_of_edges(other) && other.tensor == step.tensor; }));
      continue;
    }
    if (step.kind == BlockStep::Kind::kernel) {
      check_extents(step, ranges_of(step.labels));
      run_operator(step.op, step.labels);
    } else {
      run_collective(step);
    }
    ++next;
  }
  if (before >= 0) settle(before);
  while (!waiting_.empty()) {
    const OperatorId id = *waiting_.begin();
    make_available(graph().op(id).outputs.front().tensor);
    waiting_.erase(id);
  }
}

// Runs the operator that makes a tensor, where it has no step of its own and has not run.
void Devices::make_available(TensorId tensor) {
  for (const OperatorId id : waiting_) {
    const Operator& op = graph().op(id);
    const bool makes = std::any_of(op.outputs.begin(), op.outputs.end(),
                                   [&](const Operand& output) { return output.tensor == tensor; });
    if (!makes) continue;
    waiting_.erase(id);
    run_operator(id, program_.plan.operators[static_cast<std::size_t>(id)]);
    settle(id);
    return;
  }
}

std::vector<Ranges> Devices::ranges_of(const LabelSharding& labels) const {
  std::vector<Ranges> out;
  for (std::int64_t device = 0; device < count_of_devices(); ++device) out.push_back(layout_.ranges(labels, device));
  return out;
}

void Devices::check_extents(const BlockStep& step, const std::vector<Ranges>& ranges) const {
  for (std::size_t axis = 0; axis < graph().axes.size(); ++axis) {
    std::int64_t most = 0;
    for (const Ranges& of_device : ranges) most = std::max(most, of_device[axis].size());
    if (most == step.local[axis]) continue;
    fail(step.op, fmt::format("a device runs over {} of {}, the program says {}", most, graph().axes[axis].name,
                              step.local[axis]));
  }
}

std::vector<Operand> Devices::operands_of(OperatorId id) const {
  std::vector<Operand> out = graph().op(id).inputs;
  const std::vector<Operand> parameters = program_.meaning.parameters_of(id);
  out.insert(out.end(), parameters.begin(), parameters.end());
  return out;
}

const Version& Devices::version_for(OperatorId id, const Operand& operand, const std::vector<Ranges>& ranges) const {
  read_.insert(operand.tensor);
  std::vector<Box> boxes;
  for (const Ranges& of_device : ranges) boxes.push_back(box_of(graph(), operand, of_device));
  if (const Version* found = memory_.find_strictly(operand.tensor, boxes)) return *found;
  const Operator& op = graph().op(id);
  const bool partly = passes_sums_on(graph(), op) && is_gradient(graph(), operand) && !program_.plan.by_compiler;
  if (adds(op) || partly) {
    if (const Version* found = memory_.find_any(operand.tensor, boxes)) return *found;
  }
  // An operand that a product gathered, or that attention read with other labels divided, may be kept as it was read.
  const bool keeps = !program_.plan.by_compiler && (op.keeps_gathered || op.kind == OperatorKind::attention);
  if (keeps && op.phase != Phase::forward && graph().tensor(operand.tensor).role == TensorRole::activation) {
    if (const Version* found = aside_.find(operand.tensor, {}, boxes)) return *found;
  }
  fail(id, fmt::format("devices do not hold what it reads of {}", graph().tensor(operand.tensor).name));
}

Devices::Results Devices::compute_all(OperatorId id, const std::vector<Ranges>& ranges,
                                      const std::vector<const Version*>& inputs) const {
  Results out;
  for (std::size_t device = 0; device < ranges.size(); ++device) {
    Pieces pieces;
    for (const Version* version : inputs) pieces.push_back(&version->pieces[device]);
    out.push_back(program_.meaning.run(id, ranges[device], pieces));
  }
  ++proof_.kernels;
  return out;
}

void Devices::run_operator(OperatorId id, const LabelSharding& labels) {
  const std::vector<Ranges> ranges = ranges_of(labels);
  std::vector<const Version*> inputs;
  const std::vector<Operand> operands = operands_of(id);
  for (const Operand& operand : operands) make_available(operand.tensor);
  MeshAxisSet partial;
  for (const Operand& operand : operands) {
    inputs.push_back(&version_for(id, operand, ranges));
    partial.insert(inputs.back()->partial);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    // An empty buffer is part of any sum.
    const auto is_zero = [](const Piece& piece) { return (piece.values == 0).all(); };
    const bool empty = std::all_of(inputs[i]->pieces.begin(), inputs[i]->pieces.end(), is_zero);
    const bool factor = passes_sums_on(graph(), graph().op(id)) && !is_gradient(graph(), operands[i]);
    if (factor && !inputs[i]->partial.empty()) fail(id, "multiplies a gradient with a part of a sum");
    if (!factor && inputs[i]->partial != partial && !empty) fail(id, "adds sums over different devices");
  }
  put_results(id, labels, {}, partial, compute_all(id, ranges, inputs));
  memory_.drop_rows_for(id);
  if (!program_.meaning.must_be_finished(id)) return;
  unfinished_[id] = {ranges, result_sharding(graph().op(id), graph().op(id).outputs[0], labels).partial};
  finish_losses(id);
}

// Round a ring every device's results are whole. `partial`: what the operands were parts of.
void Devices::put_results(OperatorId id, const LabelSharding& labels, MeshAxisSet ring, MeshAxisSet partial,
                          Results results) {
  const Operator& op = graph().op(id);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    Version version;
    version.partial = result_sharding(op, op.outputs[i], labels).partial;
    version.partial.erase(ring);
    version.partial.insert(partial);
    version.partial = used(version.partial);
    for (std::vector<Piece>& of_device : results) version.pieces.push_back(std::move(of_device[i]));
    const Sharding own = operand_sharding(op.outputs[i], labels);
    for (std::size_t device = 0; device < results.size() && !op.outputs[i].windows.empty(); ++device) {
      const Box box = layout_.box(op.outputs[i].tensor, own, static_cast<std::int64_t>(device));
      version.open = version.open || version.pieces[device].box != box;
    }
    version.open = version.open || passes_rows(id, op.outputs[i]);
    memory_.replace(op.outputs[i].tensor, std::move(version));
  }
}

// Loss and softmax, once the sums over all classes have arrived.
void Devices::finish_losses(OperatorId id) {
  const Operator& op = graph().op(id);
  const std::vector<Ranges>& ranges = unfinished_.at(id).first;
  std::vector<std::vector<Piece>> results(ranges.size());
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    std::vector<Box> boxes;
    for (const Ranges& of_device : ranges) boxes.push_back(box_of(graph(), op.outputs[i], of_device));
    const Version* found = memory_.find(op.outputs[i].tensor, {}, boxes);
    if (found == nullptr) return;
    for (std::size_t device = 0; device < ranges.size(); ++device) {
      results[device].push_back(found->pieces[device].part(boxes[device]));
    }
  }
  for (std::size_t device = 0; device < ranges.size(); ++device) {
    finish_cross_entropy(graph(), op, ranges[device], results[device]);
  }
  unfinished_.erase(id);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    Version version;
    for (std::vector<Piece>& of_device : results) version.pieces.push_back(std::move(of_device[i]));
    memory_.replace(op.outputs[i].tensor, std::move(version));
  }
}

// Leaves the results of an operator at home once its collectives are done: devices keep their parts of larger results.
void Devices::settle(OperatorId id) {
  if (!program_.plan.by_compiler || unfinished_.contains(id)) return;
  for (const Operand& output : graph().op(id).outputs) {
    if (graph().tensor(output.tensor).role == TensorRole::parameter_gradient) continue;
    const std::vector<Box> boxes = boxes_of(layout_, output.tensor, home(output.tensor));
    const Version* whole = memory_.find(output.tensor, {}, boxes);
    if (whole == nullptr) continue;
    Version at_home;
    for (std::size_t device = 0; device < boxes.size(); ++device) {
      at_home.pieces.push_back(whole->pieces[device].part(boxes[device]));
    }
    memory_.replace(output.tensor, std::move(at_home));
  }
}

void Devices::forget(const std::vector<TensorId>& kept) {
  const std::set<TensorId> stays(kept.begin(), kept.end());
  read_.clear();
  for (auto& [id, versions] : memory_.all()) {
    if (graph().tensor(id).role != TensorRole::activation && graph().tensor(id).role != TensorRole::input) continue;
    for (const Version& version : versions) aside_.put(id, version);
    if (!stays.contains(id)) versions.clear();
  }
  forget_copies();
}

void Devices::forget_copies() {
  for (auto& [id, versions] : memory_.all()) {
    if (graph().tensor(id).role == TensorRole::parameter_gradient) continue;
    const std::vector<Box> boxes = boxes_of(layout_, id, home(id));
    for (const Version& version : versions) {
      if (version.partial.empty() && graph().tensor(id).role == TensorRole::activation) aside_.put(id, version);
    }
    const Version* whole = memory_.find(id, {}, boxes);
    if (whole == nullptr) {
      if (graph().tensor(id).role == TensorRole::activation) versions.clear();
      continue;
    }
    // A slice that was free to take is taken now.
    Version at_home;
    for (std::size_t device = 0; device < boxes.size(); ++device) {
      at_home.pieces.push_back(whole->pieces[device].part(boxes[device]));
    }
    versions = {std::move(at_home)};
  }
}

}  // namespace mirfak::interpreter
