#include "simulation/power_grid.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace mirfak {

void check_power_numbers(double numbers, const std::string& what, const std::string& remedy) {
  if (numbers <= static_cast<double>(kMostPowerNumbers)) return;
  fail_input({"--power-resolution", 0, 0},
             fmt::format("{} more than {} million numbers", what, kMostPowerNumbers / 1'000'000), remedy);
}

PowerGrid::PowerGrid(Picoseconds iteration, double interval_s, std::size_t most) : iteration_(iteration) {
  const double wanted = std::round(to_seconds(iteration) / interval_s);
  intervals_ = static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(most)));
  interval_s_ = to_seconds(iteration) / static_cast<double>(intervals_);
}

std::size_t PowerGrid::interval_of(Picoseconds time) const {
  const double place = std::floor(to_seconds(time) / interval_s_);
  return std::min(intervals_ - 1, static_cast<std::size_t>(std::max(0.0, place)));
}

void PowerGrid::add(std::vector<double>& means_w, Picoseconds start, Picoseconds end, double watts) const {
  if (end <= start) return;
  const std::size_t first = interval_of(start);
  const std::size_t last = interval_of(end);
  const double scale = watts / interval_s_;
  if (first == last) {
    means_w[first] += to_seconds(end - start) * scale;
    return;
  }
  // Time after the border of an interval, which rounding may take a little below 0.
  const auto after = [&](Picoseconds time, std::size_t interval) {
    return to_seconds(time) - static_cast<double>(interval) * interval_s_;
  };
  means_w[first] += (interval_s_ - after(start, first)) * scale;
  for (std::size_t i = first + 1; i < last; ++i) means_w[i] += watts;
  means_w[last] += after(end, last) * scale;
}

void PowerGrid::add_energy(std::vector<double>& means_w, Picoseconds start, Picoseconds end, double joules) const {
  if (joules == 0) return;
  if (end > start) return add(means_w, start, end, joules / to_seconds(end - start));
  means_w[interval_of(start)] += joules / interval_s_;
}

void PowerGrid::add_slope(std::vector<double>& means_w, const PowerSlope& slope) const {
  const double start_s = to_seconds(slope.start);
  const double end_s = to_seconds(slope.end);
  if (end_s <= start_s) return;
  const double rise = (slope.last_w - slope.first_w) / (end_s - start_s);
  const std::size_t last = interval_of(slope.end);
  for (std::size_t i = interval_of(slope.start); i <= last; ++i) {
    const double from = std::max(start_s, static_cast<double>(i) * interval_s_);
    const double to = i == last ? end_s : std::min(end_s, static_cast<double>(i + 1) * interval_s_);
    means_w[i] += (slope.first_w + rise * ((from + to) / 2 - start_s)) * (to - from) / interval_s_;
  }
}

namespace {

using Marks = std::vector<std::uint8_t>;  // by interval: 1 if it is marked

// Returns `asked_w` with no power above the limit in the intervals that are `capped`; what is left there is drawn in
// the next intervals that have room. The second round begins with the power that the first one leaves over its end, and
// ends where none is left: from there on it would repeat the first.
std::vector<double> drawn_under(const std::vector<double>& asked_w, double limit_w, const Marks& capped) {
  std::vector<double> out(asked_w.size());
  double waiting = 0;
  for (int round = 0; round == 0 || (round == 1 && waiting > 0); ++round) {
    for (std::size_t i = 0; i < out.size() && (round == 0 || waiting > 0); ++i) {
      const double most = capped[i] != 0 ? limit_w : std::max(limit_w, asked_w[i]);
      out[i] = std::min(asked_w[i] + waiting, most);
      waiting += asked_w[i] - out[i];
    }
  }
  return out;
}

// Marks the intervals of each window whose mean is above the limit; returns true if there is one.
bool mark_windows_above(const std::vector<double>& means_w, double limit_w, std::size_t window, Marks& marks) {
  constexpr double kErrorOfSums = 1e-12;
  const std::size_t n = means_w.size();
  const double most = limit_w * static_cast<double>(window) * (1 + kErrorOfSums);
  double sum = 0;
  for (std::size_t i = 0; i < window; ++i) sum += means_w[i];
  bool any = false;
  std::size_t marked = 0;  // intervals before this one have their marks
  std::size_t next = window % n;
  for (std::size_t i = 0; i < n; ++i) {
    if (sum > most) {
      for (std::size_t j = std::max(i, marked); j < i + window; ++j) {
        any = any || marks[j % n] == 0;
        marks[j % n] = 1;
      }
      marked = i + window;
    }
    sum += means_w[next] - means_w[i];
    if (++next == n) next = 0;
  }
  return any;
}

}  // namespace

// Intervals in a window above the limit are capped, until no window is: each round caps more of them, and a series
// whose intervals are all capped has none above the limit.
void hold_to_limit(std::vector<double>& means_w, double limit_w, std::size_t window) {
  const std::size_t n = means_w.size();
  if (n == 0 || *std::max_element(means_w.begin(), means_w.end()) <= limit_w) return;
  if (std::accumulate(means_w.begin(), means_w.end(), 0.0) >= limit_w * static_cast<double>(n)) return;
  Marks capped(n, 0);
  std::vector<double> held = means_w;
  while (mark_windows_above(held, limit_w, std::min(window, n), capped)) held = drawn_under(means_w, limit_w, capped);
  means_w = std::move(held);
}

// The output follows dy/dt = (x - y) / T. Over an interval of length h with constant x it begins at y and ends at
// x + (y - x) exp(-h/T), and its mean is x + (y - x) (1 - exp(-h/T)) T / h. A whole iteration maps y to a y + b with
// a < 1: the steady state begins at b / (1 - a).
void smooth(std::vector<double>& means_w, double interval_s, double time_constant_s) {
  if (time_constant_s <= 0 || means_w.empty()) return;
  const double kept = std::exp(-interval_s / time_constant_s);
  const double mean_kept = -std::expm1(-interval_s / time_constant_s) * time_constant_s / interval_s;
  double y = 0;
  for (const double x : means_w) y = x + (y - x) * kept;
  y /= -std::expm1(-static_cast<double>(means_w.size()) * interval_s / time_constant_s);
  for (double& mean : means_w) {
    const double x = mean;
    mean = x + (y - x) * mean_kept;
    y = x + (y - x) * kept;
  }
}

}  // namespace mirfak
