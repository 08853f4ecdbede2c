#pragma once

#include "cluster/hardware.hpp"
#include "engine/time_spans.hpp"
#include "simulation/power_grid.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace mirfak {

// Work under way on a GPU, by which its power over time is divided.
enum class PowerPart : std::uint8_t {
  passes,       // forward and backward passes, with the collectives inside them that are no tasks of their own
  optimizer,    // optimizer steps
  collectives,  // waiting while a collective of the GPU is under way, and what collectives themselves draw
  waiting,      // any other waiting
  floor         // burnt to keep cluster.power_floor
};
inline constexpr std::size_t kPowerParts = 5;
std::string_view name_of(PowerPart part);

// Shortest mean that a power controller is taken to hold to its limit: the sensor of the A100 and the H100 sees a
// quarter of each 100 ms (arXiv 2312.02741). Windows of the controllers themselves are not published.
inline constexpr double kLimitWindow_s = 0.025;

// Power of one GPU by parts, in W, and the share of time in which it waits while a collective is under way, by interval
// of a grid.
struct GpuPower {
  explicit GpuPower(std::size_t intervals) : in_collectives(intervals) { parts.fill(std::vector<double>(intervals)); }

  std::vector<double>& operator[](PowerPart part) { return parts[static_cast<std::size_t>(part)]; }
  std::vector<double> sum() const;

  std::array<std::vector<double>, kPowerParts> parts;
  std::vector<double> in_collectives;
};

// Adds the power of a GPU, or of a rank's share of a GPU, that waits: `blocked_w` between the `busy` spans, which
// ascend and do not overlap. While a collective is under way, this power counts as part of collectives.
void add_waiting(const PowerGrid& grid, const TimeSpans& busy, TimeSpans collectives, double blocked_w, GpuPower& out);

// Adds `series` to `sum` so many times, interval by interval.
void add_times(std::vector<double>& sum, const std::vector<double>& series, double times);

// Holds a GPU's power to its limit, as a mean over kLimitWindow_s.
void hold_to_own_limit(const GpuSpec& gpu, const PowerGrid& grid, std::vector<double>& watts);
// The same of the sum of the parts, where power that is drawn later than its work is that of passes; then the supply of
// the node smooths each part.
void limit_and_smooth(const NodeHardware& hardware, const PowerGrid& grid, GpuPower& power);
// Smooths power as the supply of a node does (NodeSpec::supply_time_constant_s).
void smooth_by_supply(const NodeSpec& node, const PowerGrid& grid, std::vector<double>& watts);

}  // namespace mirfak
