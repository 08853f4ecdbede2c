#pragma once

#include <string>

namespace mirfak {

// Returns the text as a terminal or a UTF-8 file may have it: control characters, and characters that turn the
// direction of writing, become "\u001b"; bytes that are not UTF-8 become "\xff". Line ends and tabs stay in a text; in
// a name, such as a file's, they are replaced as well.
std::string visible_text(std::string text);
std::string visible_name(std::string name);
// Returns visible_text() of a text whose sequences for terminal colours stay as they are.
std::string visible_coloured_text(std::string text);

}  // namespace mirfak
