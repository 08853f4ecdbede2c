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

// Quantities for people to read, with an SI (or binary) prefix and three significant digits: more would promise what a
// prediction with an error of some percent cannot keep. Files for programs hold full precision instead.
inline constexpr int kShownDigits = 3;

enum class Unit : std::uint8_t {
  number,      // "0.731", "38.6", "1230"
  whole,       // "1536"; what is no whole number as `number`
  count,       // 1.746e11 is "175 G", 8 is "8"
  seconds,     // "20.8 s", "3.41 ms", "12.0 us"; minutes from 1000 s on, hours from 2 h, days from 2 days
  bytes,       // binary: "48.1 GiB"
  flop,        // "1.35 EFLOP"
  joules,      // "12.3 MJ"
  watt_hours,  // of joules: "297 MWh"
  watts,       // "564 kW"
  kilograms,   // "12.3 g", "4.07 kg", "24.7 t"
  usd,         // what is predicted: "$3.04 M", "$1.95", "$0.0153"
  share,       // "51.4 %"
};
inline constexpr std::size_t kNumberOfUnits = 12;
std::string_view name_of(Unit unit);

std::string format(double value, Unit unit, int digits = kShownDigits);

// The unit of what JSON, CSV, HDF5 and Python have under a key: its last word, before "_per_gpu" and the like, says it.
// "iteration_time_s" are seconds, "cost_usd_per_iteration" are dollars, what ends with "_per_s" counts; a word that
// names no unit belongs to a whole number.
Unit unit_of_key(std::string_view key);

// The same as tables write it: "s", "bytes", "1/s"; "" where a number has none.
std::string_view symbol_of_key(std::string_view key);

// A word with which keys end, and the unit that it says.
struct UnitWord {
  std::string_view word;
  Unit unit{};
};
std::span<const UnitWord> unit_words();

// Names of a unit: the first stands for `size` of what a value counts, each other for `step` times the one before.
struct UnitNames {
  double size = 1;
  double step = 1;
  std::span<const std::string_view> names;
};
UnitNames names_of(Unit unit);  // none: numbers, shares, seconds. Dollars have a sign in front instead

// A unit of time: seconds from `least` on are shown in it. The longest first.
struct TimeUnit {
  double least = 0;
  double seconds = 1;
  std::string_view name;
};
std::span<const TimeUnit> time_units();

// As format() shows values of these units.
std::string format_number(double value);
std::string format_seconds(double seconds);
std::string format_seconds(double seconds, int digits);
std::string format_bytes(double bytes);
std::string format_flop(double flop);
std::string format_count(double count);
std::string format_joules(double joules);
std::string format_joules(double joules, int digits);
std::string format_watt_hours(double joules);
std::string format_watts(double watts);
std::string format_kilograms(double kilograms);
std::string format_percent(double fraction);
std::string format_signed_percent(double fraction);  // "+2.5 %"
std::string format_usd(double usd);
// What is given, such as a price or a budget, to the cent: "$1,234,567.89"
std::string format_price(double usd);

// The digits with which values up to `largest` must be shown for steps of `step` to be told apart.
int digits_for_steps(double step, double largest);

}  // namespace mirfak
