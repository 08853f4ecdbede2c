#include "base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace mirfak {

namespace {

// Four significant digits, trailing zeros kept so that columns of numbers line up.
std::string four_digits(double value) {
  const double magnitude = std::abs(value);
  const int decimals = magnitude >= 1000 ? 0 : magnitude >= 100 ? 1 : magnitude >= 10 ? 2 : 3;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string with_prefix(double value, std::string_view unit) {
  constexpr std::array<std::string_view, 9> prefixes = {"", "k", "M", "G", "T", "P", "E", "Z", "Y"};
  std::size_t index = 0;
  while (std::abs(value) >= 1000 && index + 1 < prefixes.size()) {
    value /= 1000;
    ++index;
  }
  return fmt::format("{} {}{}", four_digits(value), prefixes[index], unit);
}

}  // namespace

std::string format_seconds(double seconds) {
  const double magnitude = std::abs(seconds);
  if (magnitude >= 2 * 86400) return four_digits(seconds / 86400) + " days";
  if (magnitude >= 2 * 3600) return four_digits(seconds / 3600) + " h";
  if (magnitude >= 1 || magnitude == 0) return four_digits(seconds) + " s";
  if (magnitude >= 1e-3) return four_digits(seconds * 1e3) + " ms";
  if (magnitude >= 1e-6) return four_digits(seconds * 1e6) + " us";
  return four_digits(seconds * 1e9) + " ns";
}

std::string format_bytes(double bytes) {
  constexpr std::array<std::string_view, 6> prefixes = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t index = 0;
  while (std::abs(bytes) >= 1024 && index + 1 < prefixes.size()) {
    bytes /= 1024;
    ++index;
  }
  return fmt::format("{} {}", four_digits(bytes), prefixes[index]);
}

std::string format_flop(double flop) { return with_prefix(flop, "FLOP"); }

std::string format_count(double count) {
  std::string text = with_prefix(count, "");
  if (text.back() == ' ') text.pop_back();
  return text;
}

std::string format_usd(double usd) {
  if (std::abs(usd) < 1) return fmt::format("${:.4f}", usd);
  std::string digits = fmt::format("{:.2f}", usd);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 6; at > (usd < 0 ? 1 : 0); at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return "$" + digits;
}

std::string format_joules(double joules) { return with_prefix(joules, "J"); }

std::string format_percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

}  // namespace mirfak
