#pragma once

#include "formula/token.hpp"

#include <vector>

namespace mirfak::block {

// Splits a text into tokens, ending in Kind::end. A comment runs from # to the end of its line. A line that begins
// further right than the line before continues that line. If the line before ends in a colon, the line begins a body
// instead, which reaches up to the first line that begins no further right than the line with the colon. Throws
// Error(input) at a character that has no meaning and at a line that begins between two levels. The tokens point into
// the source's text.
std::vector<formula::Token> tokens_of(const Node& source);

}  // namespace mirfak::block
