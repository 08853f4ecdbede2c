#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace mirfak {

inline bool is_digit(char sign) { return sign >= '0' && sign <= '9'; }

// Parses a number as Python and YAML write it: 1_000, 1e6, +3.
inline std::optional<double> number_of(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = text[i] == '_' && i > 0 && i + 1 < text.size();
    if (!between) digits += text[i];
  }
  if (digits.starts_with('+')) digits.erase(0, 1);
  double out = 0;
  const char* const end = digits.data() + digits.size();
  const auto [behind, error] = std::from_chars(digits.data(), end, out);
  return error == std::errc{} && behind == end && std::isfinite(out) ? std::optional(out) : std::nullopt;
}

// Returns the whole number that the full text states: only a minus as sign, no blanks, nothing after the digits.
inline std::optional<std::int64_t> whole_number_of(std::string_view text) {
  std::int64_t out = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, out);
  return error == std::errc{} && behind == end ? std::optional(out) : std::nullopt;
}

}  // namespace mirfak
