#include "energy/cost_curve.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace mirfak {

namespace {

constexpr double kMicrowattsPerJoulePerPicosecond = 1e18;

// Returns the cost of a second less between a choice and a faster one; values above kSteepest count as kSteepest.
double price_between(const ClockChoice& slower, const ClockChoice& faster) {
  return (faster.energy_j - slower.energy_j) / static_cast<double>(slower.duration - faster.duration) *
         kMicrowattsPerJoulePerPicosecond;
}

// Returns the choices fastest first, without choices that take at least as long as another and save nothing. The
// highest clock of equal choices stays.
std::vector<ClockChoice> undominated(std::span<const ClockChoice> choices) {
  std::vector<ClockChoice> sorted(choices.begin(), choices.end());
  std::sort(sorted.begin(), sorted.end(), [](const ClockChoice& a, const ClockChoice& b) {
    return std::tuple(a.duration, a.energy_j, -a.clock_hz) < std::tuple(b.duration, b.energy_j, -b.clock_hz);
  });
  std::vector<ClockChoice> kept;
  for (const ClockChoice& choice : sorted) {
    if (kept.empty() || choice.energy_j < kept.back().energy_j) kept.push_back(choice);
  }
  return kept;
}

// Returns the corners of the lower convex hull, slowest first: the next corner is the one with the cheapest price.
CostCurve hull_of(std::span<const ClockChoice> slowest_first) {
  std::vector<const ClockChoice*> corners;
  for (const ClockChoice& choice : slowest_first) {
    while (corners.size() >= 2 &&
           price_between(*corners[corners.size() - 2], *corners.back()) >= price_between(*corners.back(), choice)) {
      corners.pop_back();
    }
    corners.push_back(&choice);
  }
  CostCurve curve;
  curve.durations.push_back(corners.front()->duration);
  for (std::size_t i = 1; i < corners.size(); ++i) {
    const double exact = price_between(*corners[i - 1], *corners[i]);
    const auto price =
        static_cast<Microwatts>(std::llround(std::min(exact, static_cast<double>(CostCurve::kSteepest))));
    const bool steeper = price > (curve.prices.empty() ? 0 : curve.prices.back());
    if (steeper) {
      curve.prices.push_back(price);
      curve.durations.push_back(corners[i]->duration);
    } else {
      curve.durations.back() = corners[i]->duration;  // the same price in whole microwatts
    }
  }
  return curve;
}

}  // namespace

PassChoices pass_choices(std::span<const ClockChoice> choices) {
  PassChoices out;
  out.useful = undominated(choices);
  std::reverse(out.useful.begin(), out.useful.end());
  out.curve = hull_of(out.useful);
  out.dominated = choices.size() - out.useful.size();
  out.above_hull = out.useful.size() - std::min(out.useful.size(), out.curve.durations.size());
  return out;
}

}  // namespace mirfak
