#pragma once

#include <array>
#include <string_view>

namespace mirfak {

// The files of assets/ as the generated page_assets.cpp holds them: the style sheet, and the parts of the script in
// their order, with the SHA-256 of each in hexadecimal digits.
extern const std::string_view kPageStyle;
extern const std::string_view kPageStyleHash;
inline constexpr std::size_t kPageScriptParts = 21;
extern const std::array<std::string_view, kPageScriptParts> kPageScript;
extern const std::string_view kPageScriptHash;

}  // namespace mirfak
