#include "cluster/gpu_throttle.hpp"

#include "cluster/hardware.hpp"
#include "cluster/memory_draw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

// Clock at the floor of the voltage of work that draws the limit ex factory at the full clock.
double clock_at_floor() { return std::pow(kVoltageFloorLimit, 1 / kPowerExponent); }

bool waits_below_floor(const GpuSpec& gpu) { return gpu.blocked_w.value < kVoltageFloorLimit * gpu.tdp_w.value; }

GpuThrottle throttle_of(const GpuSpec& gpu, double limit) {
  const double waiting = gpu.blocked_w.value / gpu.tdp_w.value;
  const double above_waiting = kVoltageFloorLimit - waiting;
  const double slowest = std::max(1.0, clock_at_floor() / (gpu.clock_min_hz.value / gpu.clock_max_hz.value));
  const double at_slowest = waiting + above_waiting / slowest;
  GpuThrottle out;
  if (limit >= at_slowest) {
    out.stretch = above_waiting / (limit - waiting);
    out.offset = waiting - waiting / out.stretch;
    return out;
  }
  const double idle = gpu.idle_w.value / gpu.tdp_w.value;
  out.duty = (limit - idle) / (at_slowest - idle);
  out.stretch = slowest / out.duty;
  out.offset = out.duty * (waiting - waiting / slowest) + (1 - out.duty) * idle;
  return out;
}

void undo(GpuSpec& gpu) {
  for (auto& [precision, peak] : gpu.peak_flops) peak.value *= gpu.throttle.stretch;
  gpu.memory_bandwidth.value *= gpu.throttle.stretch;
  if (gpu.throttle.blocked_w > 0) gpu.blocked_w.value = gpu.throttle.blocked_w;
  gpu.throttle = {};
}

void slow(Figure& figure, const GpuThrottle& throttle, double watts) {
  figure.value /= throttle.stretch;
  figure.source += fmt::format("; {:.3g} of it is left at {:g} W", 1 / throttle.stretch, watts);
}

}  // namespace

double lowest_limit_w(const GpuSpec& gpu) {
  if (!waits_below_floor(gpu)) return std::ceil(kVoltageFloorLimit * gpu.tdp_w.value);
  return std::min(gpu.tdp_w.value, std::floor(gpu.idle_w.value) + 1);
}

void limit_power(GpuSpec& gpu, double watts) {
  if (gpu.throttle.active()) undo(gpu);
  gpu.power_limit_w = watts;
  const double limit = gpu.limit_share();
  if (limit >= kVoltageFloorLimit || !waits_below_floor(gpu)) return;
  gpu.throttle = throttle_of(gpu, limit);
  for (auto& [precision, peak] : gpu.peak_flops) slow(peak, gpu.throttle, watts);
  slow(gpu.memory_bandwidth, gpu.throttle, watts);
  if (gpu.blocked_w.value <= watts) return;
  gpu.throttle.blocked_w = gpu.blocked_w.value;
  gpu.blocked_w = {watts, gpu.blocked_w.source + fmt::format("; {:g} W, which the limit cuts", gpu.blocked_w.value)};
}

double unthrottled_clock(const GpuSpec& gpu, double share) { return std::min(1.0, share * gpu.throttle.stretch); }

}  // namespace mirfak
