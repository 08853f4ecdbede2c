#pragma once

#include <string>

namespace mirfak {

inline constexpr double kGiB = 1073741824.0;
inline constexpr double kGB = 1e9;

// Human-readable quantities with four significant digits and an SI (or binary) prefix.
std::string format_seconds(double seconds);   // "20.83 s", "3.410 ms", "12.00 us"; hours above 2 h, days above 2 days
std::string format_bytes(double bytes);       // binary: "48.12 GiB"
std::string format_flop(double flop);         // "1.350 EFLOP"
std::string format_count(double count);       // 1.746e11 is "174.6 G"
std::string format_usd(double usd);           // "$1,234,567.89", "$0.0123"
std::string format_joules(double joules);     // "12.30 MJ"
std::string format_percent(double fraction);  // "51.4 %"

}  // namespace mirfak
