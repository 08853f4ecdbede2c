#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace mirfak {

// Returns the whole number that the full text states: only a minus as sign, no blanks, nothing after the digits.
inline std::optional<std::int64_t> whole_number_of(std::string_view text) {
  std::int64_t out = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, out);
  return error == std::errc{} && behind == end ? std::optional(out) : std::nullopt;
}

}  // namespace mirfak
