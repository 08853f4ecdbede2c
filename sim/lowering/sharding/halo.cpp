// A window reads element  stride * step + dilation * tap + offset  of an axis. Cut steps and axis into `parts`: device
// d makes steps from d s on and holds elements from d e on (s steps, e elements each). It reads from
//   d stride s + offset   to   ((d + 1) s - 1) stride + dilation (taps - 1) + offset
// so the device lacks  d (e - stride s) - offset  elements before its own elements and
//   (d + 1)(stride s - e) - stride + dilation (taps - 1) + offset + 1  behind them. Before the first device and behind
// the last there is nothing (elements outside the axis read as zero), so that device d has no more than d e before it
// and (parts - 1 - d) e behind. Both bounds are linear in d: the maximum is at one of the ends, or where the bounds
// cross. Example: 3 taps, offset -1, stride 1, 8 of 16 rows on each device: 1 row before, 1 row behind. A shift by one
// (1 tap, offset -1) over a buffer of stages, 1 stage on each device: 1 row before, which is all that a device holds.

#include "sharding/halo.hpp"

#include <algorithm>

namespace mirfak {

namespace {

bool is_windowed(const Operand& operand, std::size_t position) {
  return std::any_of(operand.windows.begin(), operand.windows.end(),
                     [&](const Window& window) { return window.position == position; });
}

bool has_plainly(const Operator& op, Axis label) {
  const auto plain = [label](const Operand& operand) {
    for (std::size_t i = 0; i < operand.labels.size(); ++i) {
      if (operand.labels[i] == label && !is_windowed(operand, i)) return true;
    }
    return false;
  };
  return std::any_of(op.inputs.begin(), op.inputs.end(), plain) ||
         std::any_of(op.outputs.begin(), op.outputs.end(), plain);
}

std::int64_t floor_of(std::int64_t number, std::int64_t divisor) {
  return number >= 0 ? number / divisor : -((divisor - 1 - number) / divisor);
}

}  // namespace

Axis dividing_label(const Operand& operand, std::size_t position) {
  for (const Window& window : operand.windows) {
    if (window.position == position) return window.step;
  }
  return operand.labels[position];
}

bool whole_with_halos(const Operator& op, Axis label) {
  for (const std::vector<Operand>* operands : {&op.inputs, &op.outputs}) {
    for (const Operand& operand : *operands) {
      for (const Window& window : operand.windows) {
        if (window.tap == label) return true;
        const Axis axis = operand.labels[window.position];
        if (window.step == label && axis != label && has_plainly(op, axis)) return true;
      }
    }
  }
  return op.kind != OperatorKind::einsum && op.kind != OperatorKind::reduction && must_be_whole(op, label);
}

Halo halo_of(std::int64_t extent, std::int64_t steps, std::int64_t taps, const Window& window, std::int64_t parts) {
  if (parts == 1) return {};
  const std::int64_t own = part_of(extent, parts);
  const std::int64_t made = part_of(steps, parts) * window.stride;
  const std::int64_t reach = window.dilation * (taps - 1) + window.offset - window.stride + 1;
  const auto before = [&](std::int64_t device) {
    return std::min(device * (own - made) - window.offset, device * own);
  };
  const auto behind = [&](std::int64_t device) {
    return std::min((device + 1) * (made - own) + reach, (parts - 1 - device) * own);
  };
  // The range of devices whose windows overlap the axis.
  const std::int64_t first = std::max<std::int64_t>(0, -floor_of(reach - 1, made) - 1);
  const std::int64_t last = std::min(parts - 1, floor_of(own * parts - window.offset - 1, made));
  // `crossing`: the device where the bounds cross, rounded down.
  const auto most = [&](const auto& lacking, std::int64_t crossing) {
    std::int64_t out = 0;
    for (const std::int64_t device : {first, last, crossing, crossing + 1}) {
      out = std::max(out, lacking(std::clamp(device, first, last)));
    }
    return out;
  };
  if (first > last) return {};
  return {most(before, floor_of(-window.offset, made)), most(behind, floor_of(parts * own - made - reach, made))};
}

}  // namespace mirfak
