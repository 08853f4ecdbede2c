#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace mirfak {

// A whole number that is all of the text: no sign but a minus, no blanks, nothing behind it.
inline std::optional<std::int64_t> whole_number_of(std::string_view text) {
  std::int64_t out = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, out);
  return error == std::errc{} && behind == end ? std::optional(out) : std::nullopt;
}

}  // namespace mirfak
