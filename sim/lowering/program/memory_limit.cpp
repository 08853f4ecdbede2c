// A device needs D(z) = platform + o(z) + A exp(q(z)) bytes where A is predicted for all but the platform, and where z,
// a normal variable, is how unlucky the run is. o and q are linear in z with one slope on either side of 0, and reach
// the widths at the quantile of 90 %. D grows with z, so the job fits with the probability of z being below the root of
// D(z) = capacity.

#include "program/memory_limit.hpp"

#include "base/random.hpp"

#include <cmath>
#include <numbers>

namespace mirfak {

namespace {

constexpr double kWidthsReach = 0.9;     // the widths of a range of 80 % reach this quantile, and 1 - this quantile
constexpr double kAlmostCertain = 40.0;  // deviations beyond which no probability differs from 0 or 1

double deviations_of_widths() {
  static const double deviations = normal_quantile(kWidthsReach);
  return deviations;
}

// Returns the share of the standard normal distribution that lies below z.
double share_below(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

// Returns by how much the need is off at z: the logarithm of the factor on what depends on the model, and the bytes of
// the platform.
struct Deviation {
  double logarithm = 0;
  double bytes = 0;
};
Deviation deviation_at(const DeviceMemoryWidths& widths, double z) {
  const double share = z / deviations_of_widths();
  if (z < 0) return {share * widths.below, share * widths.platform_below_bytes};
  return {share * widths.above, share * widths.platform_above_bytes};
}

}  // namespace

MemoryLimit limit_of_probability(const DeviceMemoryWidths& widths, double probability) {
  MemoryLimit limit;
  if (!widths.known() || probability <= 0) return limit;
  const Deviation off = deviation_at(widths, normal_quantile(probability));
  limit.is_of_probability = true;
  limit.factor = std::exp(off.logarithm);
  limit.spare_bytes = off.bytes;
  return limit;
}

double fit_probability(const DeviceMemoryWidths& widths, double needed, double platform, double capacity) {
  const double predicted = needed - platform;
  const auto beyond = [&](double z) {
    const Deviation off = deviation_at(widths, z);
    return platform + off.bytes + predicted * std::exp(off.logarithm) - capacity;
  };
  double low = -kAlmostCertain;
  double high = kAlmostCertain;
  if (beyond(low) > 0) return 0;
  if (beyond(high) <= 0) return 1;
  while (high - low > 1e-12) {
    const double middle = (low + high) / 2;
    (beyond(middle) > 0 ? high : low) = middle;
  }
  return share_below(low);
}

}  // namespace mirfak
