#pragma once

#include "base/csv.hpp"
#include "simulation/power_waveform.hpp"

#include <cstddef>
#include <vector>

namespace mirfak::measure {

// Readings of the power of one GPU, in the order of time.
struct PowerReadings {
  std::vector<double> time_s;
  std::vector<double> power_w;

  double length_s() const { return time_s.back() - time_s.front(); }
};

// Fewest iterations that readings have to span for a comparison, so that their amplitude is that of a mean iteration.
inline constexpr double kFewestIterations = 5;
// Longest gap between two readings, and longest median of the gaps. Readings at moments fold what changes faster than
// half of their rate into slow lines: at 50 ms, passes of 60 ms showed as 13 % of the amplitude below 1 Hz.
inline constexpr double kLongestGap_s = 0.25;
inline constexpr double kMedianGap_s = 0.03;
// Frequency below which amplitudes are compared: sensors average over tens of milliseconds and more.
inline constexpr double kCompared_hz = 1;

// Reads the columns `time_s` and `power_w`; other columns are ignored. Error(input) at a field that is no number, a
// time that is not later than the one before, gaps that are too long, or a table of fewer than two rows.
PowerReadings read_power_readings(const CsvTable& table);

// Mean power and amplitude of a GPU. The amplitude is that of a single line with the power of all lines below
// kCompared_hz: the root of the sum of the squares of their amplitudes. It needs no alignment in time.
struct PowerSwing {
  double mean_w = 0;
  double amplitude_w = 0;
};
// Returns the swing of readings of an iteration that repeats each `iteration_s`. Slower changes, such as those of the
// temperature, do not count: lines below half of 1 / iteration_s.
PowerSwing swing_of(const PowerReadings& readings, double iteration_s);

// Predicted and measured swing of GPU `gpu` of a cluster.
struct PowerComparison {
  double iteration_s = 0;  // predicted
  double iterations = 0;   // of this length that the readings span
  std::size_t readings = 0;
  PowerSwing predicted;
  PowerSwing measured;

  double mean_error() const { return predicted.mean_w / measured.mean_w - 1; }
  double amplitude_error() const { return predicted.amplitude_w / measured.amplitude_w - 1; }
};
// Error(infeasible) if an iteration takes 1 / kCompared_hz or less, so that it has no line to compare, the readings
// span fewer than kFewestIterations, or the cluster has no such GPU.
PowerComparison compare_power(const Simulation& simulation, const PowerReadings& readings, int gpu);

}  // namespace mirfak::measure
