#pragma once

#include <string>
#include <string_view>

namespace mirfak {

// Throws Error(input) at the first byte that is not part of UTF-8 text or is a control character other than tab and
// line end. `name` is the file of the error's place, `expected` is its hint: "expected a CSV table in UTF-8".
void check_characters(std::string_view text, const std::string& name, const std::string& expected);

}  // namespace mirfak
