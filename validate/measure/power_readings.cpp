// Readings come at times of their own, so they are brought onto equal intervals by straight lines between them. Their
// whole length is taken for one period: its lines are then 1 / length apart, and those of the iteration are among them.
#include "measure/power_readings.hpp"

#include "base/error.hpp"
#include "base/units.hpp"
#include "simulation/power_spectrum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace mirfak::measure {

namespace {

constexpr double kInterval_s = 0.01;
constexpr double kMostWatts = 1e6;
constexpr double kMostSeconds = 1e10;  // since 1970, too

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Returns means over equal intervals of about kInterval_s, of straight lines between the readings.
std::vector<double> even_means(const PowerReadings& readings) {
  const auto count = static_cast<std::size_t>(std::max(2.0, std::round(readings.length_s() / kInterval_s)));
  const double interval_s = readings.length_s() / static_cast<double>(count);
  // The energy until each border of the intervals.
  std::vector<double> joules = {0};
  double sum = 0;
  std::size_t next = 1;
  const auto energy_until = [&](double time) {
    while (next + 1 < readings.time_s.size() && readings.time_s[next] < time) {
      sum += (readings.power_w[next - 1] + readings.power_w[next]) / 2 *
             (readings.time_s[next] - readings.time_s[next - 1]);
      ++next;
    }
    const double since = readings.time_s[next - 1];
    const double share = (time - since) / (readings.time_s[next] - since);
    const double at_time = readings.power_w[next - 1] + share * (readings.power_w[next] - readings.power_w[next - 1]);
    return sum + (readings.power_w[next - 1] + at_time) / 2 * (time - since);
  };
  for (std::size_t i = 1; i <= count; ++i) {
    joules.push_back(energy_until(readings.time_s.front() + static_cast<double>(i) * interval_s));
  }
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back((joules[i + 1] - joules[i]) / interval_s);
  return out;
}

PowerSwing swing_of(std::span<const double> means_w, double period_s, double lowest_hz) {
  double squares = 0;
  for (const PowerLine& line : power_spectrum(means_w, period_s)) {
    if (line.frequency_hz >= lowest_hz && line.frequency_hz < kCompared_hz)
      squares += line.amplitude_w * line.amplitude_w;
  }
  return {mean_of(means_w), std::sqrt(squares)};
}

double median_gap_s(const PowerReadings& readings) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < readings.time_s.size(); ++i) {
    gaps.push_back(readings.time_s[i] - readings.time_s[i - 1]);
  }
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return *middle;
}

PowerSwing predicted_swing(const Simulation& simulation, int gpu, double lowest_hz) {
  const PowerWaveform waveform = power_waveform(simulation, kInterval_s);
  for (const PowerUnit& unit : waveform.gpus) {
    if (gpu < unit.first || gpu >= unit.first + unit.count) continue;
    return swing_of(unit.watts, waveform.iteration_s, lowest_hz);
  }
  fail_infeasible({}, fmt::format("the job has no GPU {}", gpu), "name one of its GPUs, from 0, by --gpu");
}

}  // namespace

PowerReadings read_power_readings(const CsvTable& table) {
  const std::size_t time = table.require("time_s");
  const std::size_t power = table.require("power_w");
  PowerReadings out;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const double at = table.number(row, time, 0, kMostSeconds);
    if (!out.time_s.empty() && at <= out.time_s.back()) {
      table.fail(row, time, fmt::format("a time of {:g} s does not follow {:g} s", at, out.time_s.back()));
    }
    if (!out.time_s.empty() && at - out.time_s.back() > kLongestGap_s) {
      table.fail(row, time, fmt::format("nothing was read for {}", format_seconds(at - out.time_s.back())),
                 fmt::format("read power at least every {}", format_seconds(kLongestGap_s)));
    }
    out.time_s.push_back(at);
    out.power_w.push_back(table.number(row, power, 0, kMostWatts));
  }
  if (out.time_s.size() < 2) fail_input(table.header_where(time), "expected two readings or more");
  const double gap_s = median_gap_s(out);
  if (gap_s > kMedianGap_s) {
    fail_input(
        table.header_where(time), fmt::format("readings come every {}", format_seconds(gap_s)),
        fmt::format("read power every {} or less: fast changes would show as slow ones", format_seconds(kMedianGap_s)));
  }
  return out;
}

PowerSwing swing_of(const PowerReadings& readings, double iteration_s) {
  return swing_of(even_means(readings), readings.length_s(), 0.5 / iteration_s);
}

PowerComparison compare_power(const Simulation& simulation, const PowerReadings& readings, int gpu) {
  PowerComparison out;
  out.iteration_s = simulation.result.iteration_time_s;
  out.iterations = readings.length_s() / out.iteration_s;
  out.readings = readings.time_s.size();
  if (out.iteration_s <= 1 / kCompared_hz) {
    fail_infeasible({},
                    fmt::format("an iteration of {} has no line below {:g} Hz to compare",
                                format_seconds(out.iteration_s), kCompared_hz),
                    "let it take longer, by a larger training.global_batch");
  }
  if (out.iterations < kFewestIterations) {
    fail_infeasible({},
                    fmt::format("readings over {} are of {:.1f} iterations of {}", format_seconds(readings.length_s()),
                                out.iterations, format_seconds(out.iteration_s)),
                    fmt::format("read power over at least {:g} iterations", kFewestIterations));
  }
  out.predicted = predicted_swing(simulation, gpu, 0.5 / out.iteration_s);
  out.measured = swing_of(readings, out.iteration_s);
  return out;
}

}  // namespace mirfak::measure
