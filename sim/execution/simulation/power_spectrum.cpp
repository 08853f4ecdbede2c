#include "simulation/power_spectrum.hpp"

#include <unsupported/Eigen/FFT>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

namespace mirfak {

std::vector<PowerLine> power_spectrum(std::span<const double> means_w, double period_s) {
  std::vector<PowerLine> lines;
  const std::size_t n = means_w.size();
  if (n < 3) return lines;
  Eigen::FFT<double> transform;
  transform.SetFlag(Eigen::FFT<double>::HalfSpectrum);
  std::vector<std::complex<double>> coefficients;
  transform.fwd(coefficients, std::vector<double>(means_w.begin(), means_w.end()));
  for (std::size_t k = 1; 2 * k < n; ++k) {
    const double frequency = static_cast<double>(k) / period_s;
    if (frequency < kLowestLine_hz) continue;
    if (frequency > kHighestLine_hz) break;
    const double angle = std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    const double weakened = std::sin(angle) / angle;
    lines.push_back({frequency, 2 * std::abs(coefficients[k]) / static_cast<double>(n) / weakened});
  }
  return lines;
}

std::vector<PowerLine> strongest(std::vector<PowerLine> lines, std::size_t count) {
  const auto before = [](const PowerLine& a, const PowerLine& b) {
    return a.amplitude_w != b.amplitude_w ? a.amplitude_w > b.amplitude_w : a.frequency_hz < b.frequency_hz;
  };
  const std::size_t kept = std::min(count, lines.size());
  std::partial_sort(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(kept), lines.end(), before);
  lines.resize(kept);
  return lines;
}

}  // namespace mirfak
