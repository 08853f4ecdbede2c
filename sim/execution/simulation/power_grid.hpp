#pragma once

#include "simulation/power_floor.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace mirfak {

// Lengths that the intervals of a power over time may have, in seconds.
struct PowerResolutions {
  double shortest_s = 0;
  double longest_s = 0;
  double usual_s = 0;

  bool allow(double seconds) const { return seconds >= shortest_s && seconds <= longest_s; }
};
inline constexpr PowerResolutions kIterationResolutions{1e-3, 1, 10e-3};

// Most numbers that a power over time may have in all its series: some 100 MB as text.
inline constexpr std::size_t kMostPowerNumbers = 10'000'000;
// Error(input) with --power-resolution for more numbers. `what`: their subject and a verb, such as "100 intervals are".
void check_power_numbers(double numbers, const std::string& what, const std::string& remedy);
inline constexpr const char* kCoarserResolution = "ask for a coarser resolution";

// An iteration divided into intervals of equal length. Series over a grid are periodic: the interval after the last is
// the first, as one iteration follows another.
class PowerGrid {
 public:
  // The number of intervals is the one whose length is nearest to `interval_s`, but at least 1 and at most `most`.
  PowerGrid(Picoseconds iteration, double interval_s, std::size_t most = kMostIntervals);

  static constexpr std::size_t kMostIntervals = std::size_t{1} << 20;

  std::size_t intervals() const { return intervals_; }
  double interval_s() const { return interval_s_; }
  Picoseconds iteration() const { return iteration_; }
  double iteration_s() const { return to_seconds(iteration_); }

  // Adds a power that lasts from `start` to `end` to the means of the intervals, in W.
  // Needs 0 <= start <= end <= iteration().
  void add(std::vector<double>& means_w, Picoseconds start, Picoseconds end, double watts) const;
  // Adds an energy that is spread evenly from `start` to `end`, or lies in the interval of `start` if both are equal.
  void add_energy(std::vector<double>& means_w, Picoseconds start, Picoseconds end, double joules) const;
  // Adds a power that changes evenly.
  void add_slope(std::vector<double>& means_w, const PowerSlope& slope) const;

 private:
  std::size_t interval_of(Picoseconds time) const;

  Picoseconds iteration_ = 0;
  std::size_t intervals_ = 1;
  double interval_s_ = 0;
};

// Holds the mean over each `window` intervals in a row to a limit, as a power controller does: power above the limit is
// drawn in the next intervals that have room. The sum stays the same. A mean of all that is above the limit has no room
// anywhere: then the series stays as it is. Needs window > 0.
void hold_to_limit(std::vector<double>& means_w, double limit_w, std::size_t window);

// Smooths means by a first-order low-pass with this time constant, exactly for a power that is constant over each
// interval, in the periodic steady state: the sum stays the same. 0: not smoothed.
void smooth(std::vector<double>& means_w, double interval_s, double time_constant_s);

}  // namespace mirfak
