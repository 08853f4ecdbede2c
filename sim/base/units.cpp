#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

namespace mirfak {

namespace {

// Returns the number of decimal places that leaves `digits` significant digits; negative if whole tens are rounded
// away.
int decimals_of(double value, int digits) {
  return digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value))));
}

// Returns the value as its digits show it, so that 999.7 counts as 1000 when a prefix is chosen.
double as_shown(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10, decimals_of(value, digits));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

// Trailing zeros are kept: they are known digits.
std::string significant(double value, int digits) {
  const double shown = as_shown(value, digits);
  if (shown == 0) return "0";
  if (!std::isfinite(shown)) return fmt::format("{}", shown);
  return fmt::format("{:.{}f}", shown, std::max(0, decimals_of(shown, digits)));
}

constexpr std::string_view kNothing[] = {"", "k", "M", "G", "T", "P", "E", "Z", "Y"};
constexpr std::string_view kBytes[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
constexpr std::string_view kFlop[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP", "ZFLOP", "YFLOP"};
constexpr std::string_view kJoules[] = {"J", "kJ", "MJ", "GJ", "TJ", "PJ", "EJ", "ZJ", "YJ"};
constexpr std::string_view kWattHours[] = {"Wh", "kWh", "MWh", "GWh", "TWh", "PWh"};
constexpr std::string_view kWatts[] = {"W", "kW", "MW", "GW", "TW"};
constexpr std::string_view kGrams[] = {"g", "kg", "t", "kt", "Mt", "Gt"};
constexpr std::string_view kDollars[] = {"", "k", "M", "G", "T"};
constexpr TimeUnit kTimes[] = {{2 * kSecondsPerDay, kSecondsPerDay, "days"},
                               {2 * kSecondsPerHour, kSecondsPerHour, "h"},
                               {1000, 60, "min"},
                               {1, 1, "s"},
                               {1e-3, 1e-3, "ms"},
                               {1e-6, 1e-6, "us"},
                               {0, 1e-9, "ns"}};

constexpr UnitWord kWords[] = {
    {"s", Unit::seconds},      {"bytes", Unit::bytes},      {"j", Unit::joules},       {"w", Unit::watts},
    {"kg", Unit::kilograms},   {"flop", Unit::flop},        {"usd", Unit::usd},        {"tflops", Unit::number},
    {"count", Unit::number},   {"mhz", Unit::number},       {"hours", Unit::count},    {"tokens", Unit::count},
    {"events", Unit::count},   {"iterations", Unit::count}, {"mfu", Unit::share},      {"hfu", Unit::share},
    {"fraction", Unit::share}, {"saving", Unit::share},     {"headroom", Unit::share}, {"probability", Unit::share},
    {"share", Unit::share},    {"goodput", Unit::share},    {"error", Unit::share},    {"mape", Unit::share},
    {"ape", Unit::share},      {"coverage", Unit::share},   {"tolerance", Unit::share}};

std::string with_name(double value, const UnitNames& unit, int digits) {
  value /= unit.size;
  std::size_t index = 0;
  while (std::max(std::abs(value), std::abs(as_shown(value, digits))) >= unit.step && index + 1 < unit.names.size()) {
    value /= unit.step;
    ++index;
  }
  const bool whole = index == 0 && std::isfinite(value) && value == std::trunc(value);
  std::string out = whole ? fmt::format("{:.0f}", value) : significant(value, digits);
  if (!unit.names[index].empty()) out.append(" ").append(unit.names[index]);
  return out;
}

std::string time_text(double seconds, int digits) {
  const double magnitude = std::abs(as_shown(seconds, digits));
  if (magnitude == 0) return "0 s";
  const auto* const unit =
      std::find_if(std::begin(kTimes), std::end(kTimes) - 1, [&](const TimeUnit& of) { return magnitude >= of.least; });
  return fmt::format("{} {}", significant(seconds / unit->seconds, digits), unit->name);
}

std::string usd_text(double usd, int digits) {
  double magnitude = std::abs(usd);
  std::size_t index = 0;
  for (; as_shown(magnitude, digits) >= 1000 && index + 1 < std::size(kDollars); ++index) magnitude /= 1000;
  return fmt::format("{}${}{}{}", usd < 0 ? "-" : "", significant(magnitude, digits), index > 0 ? " " : "",
                     kDollars[index]);
}

// Returns "tokens_per_s" for "tokens_per_s_per_gpu".
std::string_view without_shares(std::string_view key) {
  constexpr std::string_view per = "_per_";
  for (std::size_t at = key.rfind(per); at != key.npos && key.substr(at) != "_per_s"; at = key.rfind(per)) {
    key = key.substr(0, at);
  }
  return key;
}

}  // namespace

std::string_view name_of(Unit unit) {
  constexpr std::string_view names[] = {"number", "whole",     "count", "seconds",   "bytes", "flop",
                                        "joules", "wattHours", "watts", "kilograms", "usd",   "percent"};
  static_assert(std::size(names) == kNumberOfUnits);
  return names[static_cast<std::size_t>(unit)];
}

UnitNames names_of(Unit unit) {
  switch (unit) {
    case Unit::count:
      return {1, 1000, kNothing};
    case Unit::bytes:
      return {1, 1024, kBytes};
    case Unit::flop:
      return {1, 1000, kFlop};
    case Unit::joules:
      return {1, 1000, kJoules};
    case Unit::watt_hours:
      return {kSecondsPerHour, 1000, kWattHours};
    case Unit::watts:
      return {1, 1000, kWatts};
    case Unit::kilograms:
      return {1e-3, 1000, kGrams};
    case Unit::usd:
      return {1, 1000, kDollars};
    default:
      return {};
  }
}

std::span<const TimeUnit> time_units() { return kTimes; }
std::span<const UnitWord> unit_words() { return kWords; }

Unit unit_of_key(std::string_view key) {
  key = without_shares(key);
  if (key.ends_with("_per_s")) return Unit::count;
  const std::string_view last = key.substr(key.find_last_of("_.") + 1);  // the whole key if it has neither
  const auto* const found =
      std::find_if(std::begin(kWords), std::end(kWords), [&](const UnitWord& of) { return of.word == last; });
  return found == std::end(kWords) ? Unit::whole : found->unit;
}

std::string_view symbol_of_key(std::string_view key) {
  constexpr std::string_view symbols[] = {"1e12 FLOP/s", "count", "count", "s",  "bytes", "FLOP",
                                          "J",           "J",     "W",     "kg", "USD",   "fraction"};
  static_assert(std::size(symbols) == kNumberOfUnits);
  if (without_shares(key).ends_with("_per_s")) return "1/s";
  const Unit unit = unit_of_key(key);
  return unit == Unit::number && !without_shares(key).ends_with("tflops") ? ""
                                                                          : symbols[static_cast<std::size_t>(unit)];
}

std::string format(double value, Unit unit, int digits) {
  switch (unit) {
    case Unit::number:
      return significant(value, digits);
    case Unit::whole:
      return value == std::trunc(value) ? fmt::format("{:.0f}", value) : significant(value, digits);
    case Unit::seconds:
      return time_text(value, digits);
    case Unit::usd:
      return usd_text(value, digits);
    case Unit::share:
      return fmt::format("{:.1f} %", value * 100);
    default:
      return with_name(value, names_of(unit), digits);
  }
}

std::string format_number(double value) { return format(value, Unit::number); }
std::string format_seconds(double seconds) { return format(seconds, Unit::seconds); }
std::string format_seconds(double seconds, int digits) { return format(seconds, Unit::seconds, digits); }
std::string format_bytes(double bytes) { return format(bytes, Unit::bytes); }
std::string format_rate(double bytes_per_s) { return format_number(bytes_per_s / kGB) + " GB/s"; }
std::string format_flop(double flop) { return format(flop, Unit::flop); }
std::string format_count(double count) { return format(count, Unit::count); }
std::string format_joules(double joules) { return format(joules, Unit::joules); }
std::string format_joules(double joules, int digits) { return format(joules, Unit::joules, digits); }
std::string format_watt_hours(double joules) { return format(joules, Unit::watt_hours); }
std::string format_watts(double watts) { return format(watts, Unit::watts); }
std::string format_kilograms(double kilograms) { return format(kilograms, Unit::kilograms); }
std::string format_percent(double fraction) { return format(fraction, Unit::share); }
std::string format_usd(double usd) { return format(usd, Unit::usd); }

std::string format_signed_percent(double fraction) { return fmt::format("{:+.1f} %", fraction * 100); }

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
  constexpr int exact = 15;  // more digits of a double have no meaning
  return std::clamp(1 + static_cast<int>(std::ceil(std::log10(largest / step))), kShownDigits, exact);
}

}  // namespace mirfak
