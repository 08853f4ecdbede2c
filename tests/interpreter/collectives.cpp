// Collectives. A device's result is made of the tensors that its group's devices had before, and of nothing
// else.

#include "interpreter/devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak::interpreter {

double Devices::bytes_of(TensorId tensor, const Piece& piece) const {
  const Tensor& of = graph().tensor(tensor);
  return static_cast<double>(piece.values.size()) * of.density * of.bytes_per_element;
}

// The bytes of the larger of a device's buffers before and behind a collective, with padding: parts are as large as the
// largest.
double Devices::bytes_of(const BlockStep& step) const {
  const Tensor& tensor = graph().tensor(step.tensor);
  double elements = tensor.density * tensor.bytes_per_element;
  for (std::size_t i = 0; i < tensor.axes.size(); ++i) {
    // Divided as before and as behind at once, every device sends or receives parts of this size.
    MeshAxisSet both = used(step.from.axes[i]);
    both.insert(used(step.to.axes[i]));
    const MeshAxisSet joined = step.collective == CollectiveKind::shift ? step.from.axes[i] : both;
    std::int64_t part = part_of(graph().extent(tensor.axes[i]), program_.mesh.size(joined));
    // A division that appears cuts a part out of a buffer; one that disappears fills a buffer up.
    MeshAxisSet appears = joined;
    appears.erase(step.from.axes[i]);
    MeshAxisSet disappears = joined;
    disappears.erase(step.to.axes[i]);
    if (step.collective == CollectiveKind::all_gather) part *= program_.mesh.size(disappears);
    part *= program_.mesh.size(appears);
    elements *= static_cast<double>(part);
  }
  return elements;
}

void Devices::check_bytes(const BlockStep& step, double bytes) const {
  if (std::abs(bytes - step.bytes) <= 1e-9 * (1 + bytes)) return;
  fail(step.op, fmt::format("{} of {} is of {} bytes, the program says {}", name_of(step.collective),
                            graph().tensor(step.tensor).name, bytes, step.bytes));
}

// Maxima are combined by their largest, everything else by its sum.
bool Devices::takes_largest(TensorId tensor) const {
  for (const Operator& op : graph().operators) {
    if (op.phase != Phase::forward) continue;
    if (op.kind == OperatorKind::cross_entropy && op.outputs[1].tensor == tensor) return true;
    if (op.kind == OperatorKind::reduction && op.function == "max" && op.outputs[0].tensor == tensor) return true;
  }
  return false;
}

// Parts change places: each device sends its own to one other.
void Devices::run_exchange(const BlockStep& step) {
  const std::vector<Box> from = boxes_of(layout_, step.tensor, step.from);
  const std::vector<Box> to = boxes_of(layout_, step.tensor, step.to);
  const Version* version = memory_.find(step.tensor, used(step.from.partial), from);
  const std::string what = fmt::format("{} of {}", name_of(step.collective), graph().tensor(step.tensor).name);
  if (version == nullptr) fail(step.op, what + ": devices do not hold it as the program says");
  if (used(step.over).size() != 2) fail(step.op, what + " is not between two mesh axes");
  const MeshAxis one = *step.over.begin();
  const MeshAxis other = *++step.over.begin();
  if (program_.mesh.size(one) != program_.mesh.size(other)) fail(step.op, what + " is between axes of unequal sizes");
  Version result;
  result.partial = used(step.to.partial);
  if (result.partial != used(step.from.partial)) fail(step.op, what + " sums nothing");
  for (std::int64_t device = 0; device < count_of_devices(); ++device) {
    const std::int64_t half = layout_.moved(device, one, layout_.coordinate(device, other));
    const auto sender = static_cast<std::size_t>(layout_.moved(half, other, layout_.coordinate(device, one)));
    const Box& wanted = to[static_cast<std::size_t>(device)];
    if (from[sender] != wanted) fail(step.op, what + " brings other parts than the program says");
    result.pieces.push_back(version->pieces[sender].part(wanted));
  }
  check_bytes(step, bytes_of(step));
  ++proof_.collectives;
  result.copy = program_.plan.by_compiler && step.to.axes != home(step.tensor).axes;
  memory_.put(step.tensor, std::move(result));
}

void Devices::run_collective(const BlockStep& step) {
  make_available(step.tensor);
  if (step.collective == CollectiveKind::shift) return run_exchange(step);
  const MeshAxisSet over = used(step.over);
  const MeshAxisSet before = used(step.from.partial);
  const MeshAxisSet after = used(step.to.partial);
  const std::vector<Box> from = boxes_of(layout_, step.tensor, step.from);
  const std::vector<Box> to = boxes_of(layout_, step.tensor, step.to);
  const Version* version = memory_.find(step.tensor, before, from);
  const std::string what = fmt::format("{} of {}", name_of(step.collective), graph().tensor(step.tensor).name);
  if (version == nullptr) fail(step.op, what + ": devices do not hold it as the program says");
  MeshAxisSet summed = before;
  summed.erase(after);
  if (!over.contains(summed)) fail(step.op, what + " sums over devices that are not in its group");
  const bool sums = step.collective == CollectiveKind::all_reduce || step.collective == CollectiveKind::reduce_scatter;
  if (sums == summed.empty()) fail(step.op, what + " does not do what it is called after");
  if (over.size() == 0) fail(step.op, what + " is among no devices");

  Version result;
  result.partial = after;
  double bytes = 0;
  for (std::int64_t device = 0; device < count_of_devices(); ++device) {
    const auto own = static_cast<std::size_t>(device);
    Piece made(to[own]);
    if (takes_largest(step.tensor)) made.values.setConstant(-1e300);
    std::int64_t filled = 0;
    for (const std::int64_t member : layout_.group(device, over)) {
      const Piece sent = version->pieces[static_cast<std::size_t>(member)].part(from[static_cast<std::size_t>(member)]);
      if (!sums) {
        filled += made.write(sent);
        continue;
      }
      if (!contains(sent.box, made.box)) fail(step.op, what + " lacks a part of its sum");
      const Piece part = sent.part(made.box);
      if (takes_largest(step.tensor)) {
        made.values = made.values.max(part.values);
      } else {
        made.values += part.values;
      }
    }
    if (!sums && filled != made.values.size()) {
      fail(step.op, fmt::format("{} fills {} of {} elements on device {}", what, filled, made.values.size(), device));
    }
    bytes = std::max({bytes, bytes_of(step.tensor, Piece(from[own])), bytes_of(step.tensor, made)});
    result.pieces.push_back(std::move(made));
  }
  // The bytes that were moved must be those of the step, where all parts are equal.
  if (layout_.is_even() && std::abs(bytes - bytes_of(step)) > 1e-9 * (1 + bytes)) {
    fail(step.op, what + " moves other parts than its shardings say");
  }
  check_bytes(step, bytes_of(step));
  ++proof_.collectives;
  result.copy = program_.plan.by_compiler && step.to.axes != home(step.tensor).axes;
  memory_.put(step.tensor, std::move(result));
  for (const Operator& op : graph().operators) {
    const bool loss = op.kind == OperatorKind::cross_entropy && op.phase == Phase::forward;
    if (!loss) continue;
    const auto id = static_cast<OperatorId>(&op - graph().operators.data());
    const bool own = std::any_of(op.outputs.begin(), op.outputs.end(),
                                 [&](const Operand& output) { return output.tensor == step.tensor; });
    if (own && unfinished_.contains(id)) finish_losses(id);
  }
}

}  // namespace mirfak::interpreter
