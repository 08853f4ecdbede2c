#pragma once

#include <array>
#include <string_view>

namespace mirfak {

// Files of assets/ as the generated page_assets.cpp holds them: the style sheet, the parts of the script in their
// order, and the SHA-256 of the style sheet and of the whole script in hexadecimal digits.
extern const std::string_view kPageStyle;
extern const std::string_view kPageStyleHash;
inline constexpr std::size_t kPageScriptParts = 23;
extern const std::array<std::string_view, kPageScriptParts> kPageScript;
extern const std::string_view kPageScriptHash;

}  // namespace mirfak
