#pragma once

#include <string>

namespace mirfak {

inline constexpr double kGiB = 1073741824.0;
inline constexpr double kGB = 1e9;

// Human-readable quantities with three or four significant digits and an SI (or binary) prefix.
std::string format_seconds(double seconds);   // "20.83 s", "3.41 ms", "12.0 us"; hours and days above 2 h
std::string format_bytes(double bytes);       // binary: "48.12 GiB"
std::string format_flop(double flop);         // "1.35 EFLOP"
std::string format_count(double count);       // "174.6 B" style: "1.74e11" becomes "174.0 G"
std::string format_usd(double usd);           // "$1,234,567.89", "$0.0123"
std::string format_joules(double joules);     // "12.3 MJ"
std::string format_percent(double fraction);  // "51.4 %"

}  // namespace mirfak
