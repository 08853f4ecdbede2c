#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Returns the words of a name in small letters, split between letters, digits and other signs: "LLaMA3.1-8B" gives
// llama, 3, 1, 8, b.
std::vector<std::string> name_words(std::string_view name);

}  // namespace mirfak
