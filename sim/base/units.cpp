#include "base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace mirfak {

namespace {

// The value as four significant digits show it, so that 999.97 counts as 1000 where a prefix is chosen.
double as_shown(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10, 3 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

// Four significant digits, trailing zeros kept so that columns of numbers line up.
std::string four_digits(double value) {
  const double magnitude = std::abs(as_shown(value));
  const int decimals = magnitude >= 1000 ? 0 : magnitude >= 100 ? 1 : magnitude >= 10 ? 2 : 3;
  return fmt::format("{:.{}f}", value, decimals);
}

template <std::size_t Count>
std::string with_prefix(double value, double step, const std::array<std::string_view, Count>& units) {
  std::size_t index = 0;
  while (std::abs(as_shown(value)) >= step && index + 1 < Count) {
    value /= step;
    ++index;
  }
  return fmt::format("{} {}", four_digits(value), units[index]);
}

}  // namespace

std::string format_seconds(double seconds) {
  const double magnitude = std::abs(as_shown(seconds));
  if (magnitude >= 2 * 86400) return four_digits(seconds / 86400) + " days";
  if (magnitude >= 2 * 3600) return four_digits(seconds / 3600) + " h";
  if (magnitude >= 1 || magnitude == 0) return four_digits(seconds) + " s";
  if (magnitude >= 1e-3) return four_digits(seconds * 1e3) + " ms";
  if (magnitude >= 1e-6) return four_digits(seconds * 1e6) + " us";
  return four_digits(seconds * 1e9) + " ns";
}

std::string format_bytes(double bytes) {
  constexpr std::array<std::string_view, 6> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  return with_prefix(bytes, 1024, units);
}

std::string format_flop(double flop) {
  constexpr std::array<std::string_view, 9> units = {"FLOP",  "kFLOP", "MFLOP", "GFLOP", "TFLOP",
                                                     "PFLOP", "EFLOP", "ZFLOP", "YFLOP"};
  return with_prefix(flop, 1000, units);
}

std::string format_count(double count) {
  constexpr std::array<std::string_view, 9> units = {"", "k", "M", "G", "T", "P", "E", "Z", "Y"};
  std::string text = with_prefix(count, 1000, units);
  if (text.back() == ' ') text.pop_back();
  return text;
}

std::string format_usd(double usd) {
  const std::string sign = usd < 0 ? "-$" : "$";
  const double magnitude = std::abs(usd);
  if (magnitude < 1 && magnitude > 0) return sign + fmt::format("{:.4f}", magnitude);
  std::string digits = fmt::format("{:.2f}", magnitude);
  if (!std::isfinite(magnitude)) return sign + digits;
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 6; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return sign + digits;
}

std::string format_joules(double joules) {
  constexpr std::array<std::string_view, 9> units = {"J", "kJ", "MJ", "GJ", "TJ", "PJ", "EJ", "ZJ", "YJ"};
  return with_prefix(joules, 1000, units);
}

std::string format_percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

}  // namespace mirfak
