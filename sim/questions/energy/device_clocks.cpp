#include "energy/device_clocks.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

constexpr double kLowestShare = 0.4;  // share of the highest clock: far below where any pass needs least energy
constexpr std::size_t kMaxClocks = 64;

}  // namespace

std::vector<double> planned_clocks(const NodeHardware& node) {
  const GpuSpec& gpu = node.gpu;
  const double highest = gpu.clock_max_hz.value * node.clock_limit();
  const double lowest = std::max(gpu.clock_min_hz.value, kLowestShare * highest);
  const double step = gpu.clock_step_hz.value;
  const auto steps = static_cast<std::size_t>(std::floor(std::max(0.0, highest - lowest) / step + 1e-9));
  const std::size_t stride = steps / kMaxClocks + 1;
  std::vector<double> out;
  for (std::size_t i = 0; i <= steps; i += stride) out.push_back(highest - static_cast<double>(i) * step);
  return out;
}

}  // namespace mirfak
