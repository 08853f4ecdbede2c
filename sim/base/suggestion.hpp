#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mirfak {

// Returns the hint of a message about an unknown word: "did you mean 'dgx-a100-80g'?" with the likely misspelling; else
// all known words if there are few; else the few known words that contain `word`, are contained in it, or share most
// letters with it. "" if no words are known.
std::string suggestion(std::string_view word, std::span<const std::string> known);

}  // namespace mirfak
