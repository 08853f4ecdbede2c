#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace mirfak {

namespace {

// The decimal places that leave `digits` significant ones; negative where whole tens are rounded away.
int decimals_of(double value, int digits) {
  return digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value))));
}

// The value as its digits show it, so that 999.7 counts as 1000 where a prefix is chosen.
double as_shown(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10, decimals_of(value, digits));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

// Trailing zeros are kept: they are digits that are known.
std::string significant(double value, int digits) {
  const double shown = as_shown(value, digits);
  if (shown == 0) return "0";
  if (!std::isfinite(shown)) return fmt::format("{}", shown);
  return fmt::format("{:.{}f}", shown, std::max(0, decimals_of(shown, digits)));
}

template <std::size_t Count>
std::string with_prefix(double value, double step, const std::array<std::string_view, Count>& units,
                        int digits = kShownDigits) {
  std::size_t index = 0;
  while (std::max(std::abs(value), std::abs(as_shown(value, digits))) >= step && index + 1 < Count) {
    value /= step;
    ++index;
  }
  const bool whole = index == 0 && std::isfinite(value) && value == std::trunc(value);
  return fmt::format("{} {}", whole ? fmt::format("{:.0f}", value) : significant(value, digits), units[index]);
}

}  // namespace

std::string format_number(double value) { return significant(value, kShownDigits); }

std::string format_seconds(double seconds) { return format_seconds(seconds, kShownDigits); }

std::string format_seconds(double seconds, int digits) {
  struct Unit {
    double least;  // seconds from which on it is taken
    double seconds;
    std::string_view name;
  };
  constexpr std::array<Unit, 7> units = {
      Unit{2 * 86400, 86400, "days"}, Unit{2 * 3600, 3600, "h"}, Unit{1000, 60, "min"}, Unit{1, 1, "s"},
      Unit{1e-3, 1e-3, "ms"},         Unit{1e-6, 1e-6, "us"},    Unit{0, 1e-9, "ns"}};
  const double magnitude = std::abs(as_shown(seconds, digits));
  if (magnitude == 0) return "0 s";
  const auto unit = std::find_if(units.begin(), units.end() - 1, [&](const Unit& of) { return magnitude >= of.least; });
  return fmt::format("{} {}", significant(seconds / unit->seconds, digits), unit->name);
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

std::string format_joules(double joules) { return format_joules(joules, kShownDigits); }

std::string format_joules(double joules, int digits) {
  constexpr std::array<std::string_view, 9> units = {"J", "kJ", "MJ", "GJ", "TJ", "PJ", "EJ", "ZJ", "YJ"};
  return with_prefix(joules, 1000, units, digits);
}

std::string format_watt_hours(double joules) {
  constexpr std::array<std::string_view, 6> units = {"Wh", "kWh", "MWh", "GWh", "TWh", "PWh"};
  return with_prefix(joules / 3600, 1000, units);
}

std::string format_watts(double watts) {
  constexpr std::array<std::string_view, 5> units = {"W", "kW", "MW", "GW", "TW"};
  return with_prefix(watts, 1000, units);
}

std::string format_kilograms(double kilograms) {
  constexpr std::array<std::string_view, 6> units = {"g", "kg", "t", "kt", "Mt", "Gt"};
  return with_prefix(kilograms * 1000, 1000, units);
}

std::string format_percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

std::string format_signed_percent(double fraction) { return fmt::format("{:+.1f} %", fraction * 100); }

std::string format_usd(double usd) {
  constexpr std::array<std::string_view, 5> units = {"", " k", " M", " G", " T"};
  double magnitude = std::abs(usd);
  std::size_t index = 0;
  for (; as_shown(magnitude, kShownDigits) >= 1000 && index + 1 < units.size(); ++index) magnitude /= 1000;
  return fmt::format("{}${}{}", usd < 0 ? "-" : "", format_number(magnitude), units[index]);
}

std::string format_price(double usd) {
  const std::string sign = usd < 0 ? "-$" : "$";
  const double magnitude = std::abs(usd);
  if (magnitude < 0.1 && magnitude > 0) return sign + fmt::format("{:.4f}", magnitude);
  std::string digits = fmt::format("{:.2f}", magnitude);
  if (!std::isfinite(magnitude)) return sign + digits;
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 6; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return sign + digits;
}

int digits_for_steps(double step, double largest) {
  if (!(step > 0) || !(largest > step)) return kShownDigits;
  constexpr int exact = 15;  // no double has more that mean anything
  return std::clamp(1 + static_cast<int>(std::ceil(std::log10(largest / step))), kShownDigits, exact);
}

}  // namespace mirfak
