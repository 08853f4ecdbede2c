// Products that run in pieces. Rows that are gathered pass round while the pieces that have arrived are multiplied: the
// p-th kernel of a device at place r works on the rows of r - p, the first on its own. Rows whose sum is scattered go
// on towards their device: the p-th kernel adds the rows of r - 1 - p, the last its own.

#include "interpreter/devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mirfak::interpreter {

namespace {

bool is_kernel(const BlockStep& step) { return step.kind == BlockStep::Kind::kernel; }

const BlockStep* first_of(std::span<const BlockStep> steps, bool kernel) {
  const auto found =
      std::find_if(steps.begin(), steps.end(), [&](const BlockStep& step) { return is_kernel(step) == kernel; });
  return found == steps.end() ? nullptr : &*found;
}

// The operand that passes round, and the label of its rows.
struct Rows {
  Operand operand;
  Axis label{};
};
Rows rows_of(const std::vector<Operand>& operands, const BlockStep& shift) {
  Rows out;
  for (const Operand& operand : operands) {
    if (operand.tensor != shift.tensor) continue;
    out.operand = operand;
    for (std::size_t i = 0; i < operand.labels.size(); ++i) {
      if (shift.from.axes[i].contains(*shift.over.begin())) out.label = operand.labels[i];
    }
  }
  return out;
}

}  // namespace

void Devices::run_loop(std::span<const BlockStep> steps) {
  const BlockStep* kernel = first_of(steps, true);
  const BlockStep* shift = first_of(steps, false);
  if (kernel == nullptr || shift == nullptr) fail(steps.front().op, "pieces without shifts, or shifts without pieces");
  int kernels = 0;
  for (const BlockStep& step : steps) {
    if (is_kernel(step) && step.piece != kernels++) fail(step.op, "pieces are not in order");
    if (!is_kernel(step) && (step.over.size() != 1 || program_.mesh.size(step.over) != kernel->pieces)) {
      fail(step.op, "there are not as many pieces as devices in the ring");
    }
  }
  if (kernels != kernel->pieces) fail(kernel->op, "pieces are missing");
  for (const Operand& operand : operands_of(kernel->op)) make_available(operand.tensor);
  const Operator& op = graph().op(kernel->op);
  if (op.kind == OperatorKind::attention) return run_ring(steps);
  const bool gathers = std::any_of(op.inputs.begin(), op.inputs.end(),
                                   [&](const Operand& input) { return input.tensor == shift->tensor; });
  return gathers ? run_gathering(steps) : run_scattering(steps);
}

// Ranges where devices work on the part of another place of the ring.
std::vector<Ranges> Devices::ranges_at(const LabelSharding& labels, MeshAxis mesh, int further, Axis label) const {
  const int size = program_.mesh.size(mesh);
  std::vector<Ranges> out;
  for (std::int64_t device = 0; device < count_of_devices(); ++device) {
    const int block = ((layout_.coordinate(device, mesh) + further) % size + size) % size;
    out.push_back(layout_.ranges(labels, device));
    out.back()[index_of(label)] = layout_.ranges(labels, layout_.moved(device, mesh, block))[index_of(label)];
  }
  return out;
}

void Devices::run_gathering(std::span<const BlockStep> steps) {
  const BlockStep& shift = *first_of(steps, false);
  const LabelSharding labels = first_of(steps, true)->labels;
  const Operator& op = graph().op(shift.op);
  const MeshAxis mesh = *shift.over.begin();
  const Rows rows = rows_of(op.inputs, shift);
  LabelSharding whole = labels;
  whole[index_of(rows.label)].erase(mesh);
  const std::vector<Ranges> gathered_ranges = ranges_of(whole);

  const std::vector<Ranges> own = ranges_of(labels);
  const Version& start = version_for(shift.op, rows.operand, own);
  Version passing;
  Version gathered;
  for (std::size_t device = 0; device < own.size(); ++device) {
    passing.pieces.push_back(start.pieces[device].part(box_of(graph(), rows.operand, own[device])));
    gathered.pieces.emplace_back(box_of(graph(), rows.operand, gathered_ranges[device]));
  }
  Results results;
  for (const Ranges& ranges : gathered_ranges) results.push_back(zeros(graph(), op.outputs, ranges));
  Version next;
  for (const BlockStep& step : steps) {
    if (!is_kernel(step)) {
      next.pieces = received(passing.pieces, mesh, -1);
      check_bytes(step, bytes_of(step.tensor, passing.pieces.front()));
      ++proof_.collectives;
      continue;
    }
    const std::vector<Ranges> ranges = ranges_at(labels, mesh, -step.piece, rows.label);
    check_extents(step, ranges);
    std::vector<const Version*> inputs;
    for (const Operand& operand : operands_of(step.op)) {
      inputs.push_back(operand.tensor == rows.operand.tensor ? &passing : &version_for(step.op, operand, ranges));
    }
    const Results made = compute_all(step.op, ranges, inputs);
    for (std::size_t device = 0; device < made.size(); ++device) {
      gathered.pieces[device].write(passing.pieces[device]);
      for (std::size_t i = 0; i < made[device].size(); ++i) results[device][i].add(made[device][i]);
    }
    if (!next.pieces.empty()) passing = std::exchange(next, {});
  }
  memory_.put(rows.operand.tensor, std::move(gathered));
  put_results(shift.op, whole, {}, {}, std::move(results));
}

void Devices::run_scattering(std::span<const BlockStep> steps) {
  const BlockStep& shift = *first_of(steps, false);
  const LabelSharding labels = first_of(steps, true)->labels;
  const Operator& op = graph().op(shift.op);
  const MeshAxis mesh = *shift.over.begin();
  const Rows rows = rows_of(op.outputs, shift);
  PiecesOfDevices sums;  // of the rows that the device works on
  for (const BlockStep& step : steps) {
    if (!is_kernel(step)) {
      check_bytes(step, bytes_of(step.tensor, sums.front()));
      sums = received(sums, mesh, -1);
      ++proof_.collectives;
      continue;
    }
    const std::vector<Ranges> ranges = ranges_at(labels, mesh, -1 - step.piece, rows.label);
    check_extents(step, ranges);
    std::vector<const Version*> inputs;
    for (const Operand& operand : operands_of(step.op)) inputs.push_back(&version_for(step.op, operand, ranges));
    const Results made = compute_all(step.op, ranges, inputs);
    for (std::size_t device = 0; device < made.size(); ++device) {
      if (step.piece == 0) {
        sums.push_back(made[device].front());
      } else {
        sums[device].values += made[device].front().values;
      }
    }
  }
  Results results;
  for (Piece& sum : sums) results.push_back({std::move(sum)});
  put_results(shift.op, labels, MeshAxisSet(mesh), {}, std::move(results));
}

}  // namespace mirfak::interpreter
