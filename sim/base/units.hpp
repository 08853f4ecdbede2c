#pragma once

#include <string>

namespace mirfak {

inline constexpr double kGiB = 1073741824.0;
inline constexpr double kGB = 1e9;
inline constexpr double kMegahertz = 1e6;
inline constexpr double kSecondsPerHour = 3600;
inline constexpr double kSecondsPerDay = 24 * kSecondsPerHour;

// Quantities for people to read, with an SI (or binary) prefix and three significant digits: more would promise what a
// prediction with an error of some percent cannot keep. Files for programs hold full precision instead.
inline constexpr int kShownDigits = 3;

std::string format_number(double value);  // "0.731", "38.6", "1230"
// "20.8 s", "3.41 ms", "12.0 us"; minutes from 1000 s on, hours from 2 h, days from 2 days
std::string format_seconds(double seconds);
std::string format_seconds(double seconds, int digits);
std::string format_bytes(double bytes);    // binary: "48.1 GiB"
std::string format_flop(double flop);      // "1.35 EFLOP"
std::string format_count(double count);    // 1.746e11 is "175 G", 8 is "8"
std::string format_joules(double joules);  // "12.3 MJ"
std::string format_joules(double joules, int digits);
std::string format_watt_hours(double joules);        // "297 MWh"
std::string format_watts(double watts);              // "564 kW"
std::string format_kilograms(double kilograms);      // "12.3 g", "4.07 kg", "24.7 t"
std::string format_percent(double fraction);         // "51.4 %"
std::string format_signed_percent(double fraction);  // "+2.5 %"
std::string format_usd(double usd);                  // what is predicted: "$3.04 M", "$1.95", "$0.0153"
// What is given, such as a price or a budget, to the cent: "$1,234,567.89"
std::string format_price(double usd);

// The digits with which values up to `largest` must be shown for steps of `step` to be told apart.
int digits_for_steps(double step, double largest);

}  // namespace mirfak
