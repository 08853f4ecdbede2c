#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mirfak {

// The hint of a message about an unknown word: "did you mean 'dgx-a100-80g'?" with the likely misspelling; else the few
// known words that hold it, or that it holds, or share most letters with it; all where there are few. "" where nothing
// is known.
std::string suggestion(std::string_view word, std::span<const std::string> known);

}  // namespace mirfak
