#include "simulation/gpu_power.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

namespace mirfak {

namespace {

// Calls `visit` with each part of [start, end) and whether it lies in one of the spans, which ascend by their starts.
// `next`: the first span that may end after `start`.
template <typename Visit>
void divide(Picoseconds start, Picoseconds end, std::span<const TimeSpan> spans, std::size_t& next,
            const Visit& visit) {
  while (start < end) {
    while (next < spans.size() && spans[next].end <= start) ++next;
    const bool inside = next < spans.size() && spans[next].start <= start;
    Picoseconds until = end;
    if (next < spans.size()) until = std::min(end, inside ? spans[next].end : spans[next].start);
    visit(start, until, inside);
    start = until;
  }
}

}  // namespace

std::string_view name_of(PowerPart part) {
  constexpr std::string_view names[] = {"passes", "optimizer", "collectives", "waiting", "floor"};
  static_assert(std::size(names) == kPowerParts);
  return names[static_cast<std::size_t>(part)];
}

std::vector<double> GpuPower::sum() const {
  std::vector<double> out(parts.front().size());
  for (const std::vector<double>& part : parts) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += part[i];
  }
  return out;
}

void add_waiting(const PowerGrid& grid, const TimeSpans& busy, TimeSpans collectives, double blocked_w, GpuPower& out) {
  collectives = joined(std::move(collectives));
  std::size_t next = 0;
  const auto wait = [&](Picoseconds start, Picoseconds end, bool in_collective) {
    grid.add(out[in_collective ? PowerPart::collectives : PowerPart::waiting], start, end, blocked_w);
    if (in_collective) grid.add(out.in_collectives, start, end, 1);
  };
  Picoseconds free_from = 0;
  for (const TimeSpan& span : busy) {
    divide(free_from, span.start, collectives, next, wait);
    free_from = span.end;
  }
  divide(free_from, grid.iteration(), collectives, next, wait);
}

void add_times(std::vector<double>& sum, const std::vector<double>& series, double times) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += times * series[i];
}

void hold_to_own_limit(const GpuSpec& gpu, const PowerGrid& grid, std::vector<double>& watts) {
  const double window = std::max(1.0, std::ceil(kLimitWindow_s / grid.interval_s()));
  hold_to_limit(watts, gpu.limit_w(), static_cast<std::size_t>(window));
}

void smooth_by_supply(const NodeSpec& node, const PowerGrid& grid, std::vector<double>& watts) {
  smooth(watts, grid.interval_s(), node.supply_time_constant_s ? node.supply_time_constant_s->value : 0);
}

void limit_and_smooth(const NodeHardware& hardware, const PowerGrid& grid, GpuPower& power) {
  const std::vector<double> asked = power.sum();
  std::vector<double> held = asked;
  hold_to_own_limit(hardware.gpu, grid, held);
  for (std::size_t i = 0; i < held.size(); ++i) power[PowerPart::passes][i] += held[i] - asked[i];
  for (std::vector<double>& part : power.parts) smooth_by_supply(hardware.spec, grid, part);
}

}  // namespace mirfak
