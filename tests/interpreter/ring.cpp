// Attention round a ring of devices. A device at place r of n sends to r + 1. Forward, its p-th kernel reads the keys
// that started at r - p, so the last one leaves those that started at r + 1. The gradient starts from these and passes
// the other way round: its p-th kernel reads the keys of r + 1 + p, the last one the device's own, whose gradient is
// then complete: what earlier kernels added has come with them.

#include "interpreter/devices.hpp"

#include <algorithm>
#include <utility>

namespace mirfak::interpreter {

struct Devices::Ring {
  OperatorId id = -1;
  const Operator* op = nullptr;
  LabelSharding labels;
  MeshAxis mesh{};
  int size = 0;
  bool forward = false;
  std::vector<Operand> operands;
  std::vector<Ranges> own;
  std::vector<const Version*> resting;           // operands that do not travel
  std::map<TensorId, PiecesOfDevices> passing;   // what the next kernel reads of the others
  std::map<TensorId, PiecesOfDevices> next;      // on its way beside it
  std::map<std::size_t, PiecesOfDevices> added;  // gradients that travel, by output
  std::map<std::size_t, PiecesOfDevices> arriving;
  int piece = 0;  // the kernel that comes next
  Results results;

  bool travels(const Operand& operand) const { return operand.labels.contains(op->over[1]); }
};

Devices::PiecesOfDevices Devices::received(const PiecesOfDevices& sent, MeshAxis mesh, int from) const {
  const int size = program_.mesh.size(mesh);
  PiecesOfDevices out;
  for (std::int64_t device = 0; device < count_of_devices(); ++device) {
    const int sender = (layout_.coordinate(device, mesh) + from + size) % size;
    out.push_back(sent[static_cast<std::size_t>(layout_.moved(device, mesh, sender))]);
  }
  return out;
}

void Devices::run_ring(std::span<const BlockStep> steps) {
  Ring ring;
  for (const BlockStep& step : steps) {
    if (step.kind == BlockStep::Kind::collective) {
      ring.mesh = *step.over.begin();
    } else {
      ring.labels = step.labels;
    }
  }
  ring.id = steps.front().op;
  ring.op = &graph().op(ring.id);
  ring.size = program_.mesh.size(ring.mesh);
  ring.forward = ring.op->phase == Phase::forward;
  start_ring(ring);
  for (const BlockStep& step : steps) {
    if (step.kind == BlockStep::Kind::collective) {
      shift_ring(ring, step);
    } else {
      run_piece_of_ring(ring, step);
    }
  }
  if (ring.forward) left_by_ring_[ring.id] = ring.passing;
  for (const auto& [output, pieces] : ring.added) {
    for (std::size_t device = 0; device < pieces.size(); ++device) ring.results[device][output] = pieces[device];
  }
  put_results(ring.id, ring.labels, MeshAxisSet(ring.mesh), {}, std::move(ring.results));
}

void Devices::start_ring(Ring& ring) const {
  ring.operands = operands_of(ring.id);
  ring.own = ranges_of(ring.labels);
  for (const Operand& operand : ring.operands) {
    const bool travels = ring.travels(operand);
    ring.resting.push_back(travels ? nullptr : &version_for(ring.id, operand, ring.own));
    if (!travels) continue;
    read_.insert(operand.tensor);
    PiecesOfDevices& pieces = ring.passing[operand.tensor];
    if (ring.forward) {
      const Version& version = version_for(ring.id, operand, ring.own);
      pieces.clear();
      for (std::size_t device = 0; device < ring.own.size(); ++device) {
        pieces.push_back(version.pieces[device].part(box_of(graph(), operand, ring.own[device])));
      }
      continue;
    }
    const auto left = left_by_ring_.find(ring.op->gradient_of);
    if (left == left_by_ring_.end() || !left->second.contains(operand.tensor)) {
      fail(ring.id, "a ring of gradients starts from what forward's ring left, and there was none");
    }
    pieces = left->second.at(operand.tensor);
  }
}

// Operands go on while kernels still want them, and so does what the kernel before added to their gradients.
void Devices::shift_ring(Ring& ring, const BlockStep& step) const {
  const int from = ring.forward ? -1 : 1;
  double bytes = 0;
  if (ring.piece + 1 < ring.size) {
    for (const auto& [tensor, pieces] : ring.passing) {
      ring.next[tensor] = received(pieces, ring.mesh, from);
      bytes += bytes_of(tensor, pieces.front());
    }
  }
  for (const auto& [output, pieces] : ring.added) {
    ring.arriving[output] = received(pieces, ring.mesh, from);
    bytes += bytes_of(ring.op->outputs[output].tensor, pieces.front());
  }
  check_bytes(step, bytes);
  ++proof_.collectives;
}

void Devices::run_piece_of_ring(Ring& ring, const BlockStep& step) const {
  std::vector<Ranges> ranges = ring.own;
  const std::size_t keys = index_of(ring.op->over[1]);
  for (std::int64_t device = 0; device < count_of_devices(); ++device) {
    const int place = layout_.coordinate(device, ring.mesh);
    const int block = (ring.forward ? place - ring.piece + ring.size : place + 1 + ring.piece) % ring.size;
    ranges[static_cast<std::size_t>(device)][keys] =
        layout_.ranges(ring.labels, layout_.moved(device, ring.mesh, block))[keys];
  }
  check_extents(step, ranges);
  std::vector<Version> moved;
  moved.reserve(ring.operands.size());
  std::vector<const Version*> inputs = ring.resting;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr) continue;
    moved.push_back({{}, ring.passing.at(ring.operands[i].tensor)});
    inputs[i] = &moved.back();
  }
  Results made = compute_all(ring.id, ranges, inputs);
  for (std::size_t i = 0; i < ring.op->outputs.size(); ++i) {
    if (!ring.travels(ring.op->outputs[i])) continue;
    PiecesOfDevices& sums = ring.added[i];
    sums.clear();
    for (std::size_t device = 0; device < made.size(); ++device) {
      sums.push_back(made[device][i]);
      if (ring.arriving.contains(i)) sums.back().values += ring.arriving.at(i)[device].values;
    }
  }
  if (ring.piece == 0) ring.results = made;
  for (std::size_t device = 0; device < made.size() && ring.piece > 0; ++device) {
    if (ring.forward) {
      join_attention(graph(), *ring.op, ranges[device], ring.results[device], made[device]);
      continue;
    }
    for (std::size_t i = 0; i < ring.op->outputs.size(); ++i) {
      if (!ring.travels(ring.op->outputs[i])) ring.results[device][i].values += made[device][i].values;
    }
  }
  ring.arriving.clear();
  if (!ring.next.empty()) ring.passing = std::exchange(ring.next, {});
  ++ring.piece;
}

}  // namespace mirfak::interpreter
