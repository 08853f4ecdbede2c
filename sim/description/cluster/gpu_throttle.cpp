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

// Number of times that work takes as long at the lowest clock as at the floor of the voltage.
double slowest_stretch(const GpuSpec& gpu) {
  return std::max(1.0, clock_at_floor() / (gpu.clock_min_hz.value / gpu.clock_max_hz.value));
}

bool waits_below_floor(const GpuSpec& gpu) { return gpu.blocked_w.value < kVoltageFloorLimit * gpu.tdp_w.value; }

GpuThrottle throttle_of(const GpuSpec& gpu, double limit) {
  const double waiting = gpu.blocked_w.value / gpu.tdp_w.value;
  const double above_waiting = kVoltageFloorLimit - waiting;
  const double slowest = slowest_stretch(gpu);
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

WorkUnderLimit::WorkUnderLimit(const GpuSpec& gpu, double clock, double draw_w)
    : draw_w_(draw_w), waiting_w_(gpu.blocked_w.value), idle_w_(std::min(gpu.idle_w.value, gpu.blocked_w.value)) {
  const double stretch = gpu.throttle.stretch;
  at_floor_ = gpu.throttle.active() ? 1 : std::min(1.0, clock_at_floor() / clock);
  floor_w_ = draw_w * std::pow(at_floor_, kPowerExponent);
  const double slowest = std::max(1.0, slowest_stretch(gpu) / stretch);
  at_slowest_ = at_floor_ / slowest;
  slowest_w_ = waiting_w_ + (floor_w_ - waiting_w_) / slowest;
}

double WorkUnderLimit::speed(double watts) const {
  if (watts >= draw_w_) return 1;
  if (watts >= floor_w_) return std::pow(watts / draw_w_, 1 / kPowerExponent);
  if (watts >= slowest_w_) return at_floor_ * (watts - waiting_w_) / (floor_w_ - waiting_w_);
  return at_slowest_ * std::max(0.0, watts - idle_w_) / (slowest_w_ - idle_w_);
}

double WorkUnderLimit::speed_times_watts(double from_w, double to_w) const {
  // Both parts below the floor are lines.
  const auto line = [&](double from, double to) { return from < to ? (speed(from) + speed(to)) / 2 * (to - from) : 0; };
  const auto above_floor = [&](double watts) {
    return draw_w_ / (1 + 1 / kPowerExponent) * std::pow(watts / draw_w_, 1 + 1 / kPowerExponent);
  };
  double out = line(from_w, std::min(to_w, slowest_w_));
  out += line(std::max(from_w, slowest_w_), std::min(to_w, floor_w_));
  const double from = std::max(from_w, floor_w_);
  return from < to_w ? out + above_floor(to_w) - above_floor(from) : out;
}

double unthrottled_clock(const GpuSpec& gpu, double share) { return std::min(1.0, share * gpu.throttle.stretch); }

}  // namespace mirfak
