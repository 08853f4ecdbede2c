#pragma once

#include <string>

namespace mirfak {

// The same text for a terminal, or for a file of UTF-8: control characters, and those that turn the direction of
// writing, become "\u001b"; bytes that are not UTF-8 become "\xff". Line ends and tabs stay in a text; in a name,
// such as that of a file, they do not.
std::string visible_text(std::string text);
std::string visible_name(std::string name);
// The same of a text that may change a terminal's colours.
std::string visible_coloured_text(std::string text);

}  // namespace mirfak
