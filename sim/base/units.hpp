#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mirfak {

inline constexpr double kGiB = 1073741824.0;
inline constexpr double kGB = 1e9;
inline constexpr double kMegahertz = 1e6;
inline constexpr double kSecondsPerHour = 3600;
inline constexpr double kSecondsPerDay = 24 * kSecondsPerHour;

// Quantities for people to read, with an SI (or binary) prefix and three significant digits: more digits would promise
// an accuracy that a prediction with an error of some percent does not have. Files for programs hold full precision
// instead.
inline constexpr int kShownDigits = 3;

enum class Unit : std::uint8_t {
  number,      // "0.731", "38.6", "1230"
  whole,       // "1536"; a value that is not a whole number is shown as `number`
  count,       // 1.746e11 is "175 G", 8 is "8"
  seconds,     // "20.8 s", "3.41 ms", "12.0 us"; minutes from 1000 s on, hours from 2 h, days from 2 days
  bytes,       // binary: "48.1 GiB"
  flop,        // "1.35 EFLOP"
  joules,      // "12.3 MJ"
  watt_hours,  // "297 MWh"; the value is in joules
  watts,       // "564 kW"
  kilograms,   // "12.3 g", "4.07 kg", "24.7 t"
  usd,         // predicted amounts: "$3.04 M", "$1.95", "$0.0153"
  share,       // "51.4 %"
};
inline constexpr std::size_t kNumberOfUnits = 12;
std::string_view name_of(Unit unit);

std::string format(double value, Unit unit, int digits = kShownDigits);

// Returns the unit of the value that JSON, CSV, HDF5 and Python have under a key. The key's last word before "_per_gpu"
// and the like gives the unit: "iteration_time_s" are seconds, "cost_usd_per_iteration" are dollars, a key that ends
// with "_per_s" is a count; a word that names no unit belongs to a whole number.
Unit unit_of_key(std::string_view key);

// Returns the unit of a key's value as tables write it: "s", "bytes", "1/s"; "" if the number has no unit.
std::string_view symbol_of_key(std::string_view key);

// A word at the end of keys, and the unit that it stands for.
struct UnitWord {
  std::string_view word;
  Unit unit{};
};
std::span<const UnitWord> unit_words();

// Names of a unit: the first name stands for `size` times the value's base unit, each other name for `step` times the
// name before.
struct UnitNames {
  double size = 1;
  double step = 1;
  std::span<const std::string_view> names;
};
UnitNames names_of(Unit unit);  // empty for numbers, shares and seconds; dollars have a sign in front instead

// A unit of time in which values from `least` seconds on are shown. The longest unit comes first.
struct TimeUnit {
  double least = 0;
  double seconds = 1;
  std::string_view name;
};
std::span<const TimeUnit> time_units();

// Formats a value of the unit in the function's name, as format() does.
std::string format_number(double value);
std::string format_seconds(double seconds);
std::string format_seconds(double seconds, int digits);
std::string format_bytes(double bytes);
std::string format_flop(double flop);
std::string format_rate(double bytes_per_s);  // always in "GB/s", as data sheets state rates
std::string format_count(double count);
std::string format_joules(double joules);
std::string format_joules(double joules, int digits);
std::string format_watt_hours(double joules);
std::string format_watts(double watts);
std::string format_kilograms(double kilograms);
std::string format_percent(double fraction);
std::string format_signed_percent(double fraction);  // "+2.5 %"
std::string format_usd(double usd);
// Formats an amount that the user gives, such as a price or a budget, to the cent: "$1,234,567.89"
std::string format_price(double usd);

// Returns the number of digits that values up to `largest` need so that steps of `step` can be told apart.
int digits_for_steps(double step, double largest);

}  // namespace mirfak
