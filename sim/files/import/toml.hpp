#pragma once

#include "base/document.hpp"

#include <string>

namespace mirfak {

// Parses TOML 1.0. `name` becomes the file of every place. Numbers become their text, dates and times too. Throws
// Error(input) at the place of the fault: malformed text, text larger than a Document may be, or nested deeper.
Value parse_toml(const std::string& text, const std::string& name);

}  // namespace mirfak
