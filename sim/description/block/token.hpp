#pragma once

#include "block/place.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mirfak::block {

struct Token {
  enum class Kind {
    name,     // letters, digits and _; a letter first. Labels may end in primes: s'
    number,   // 2, 0.5, 1e-3
    mark,     // one of [ ] ( ) , ; : = + - * / @ . -> == != < <= > >=
    newline,  // the end of a line that is not empty
    indent,   // the next line begins further right, after a colon: it belongs to the line before
    dedent,   // the end of the lines after an indent
    end,
  };
  Kind kind{};
  std::string_view text;  // a part of the source's text
  Place place;
  bool touches = false;  // no space before it

  bool is(std::string_view mark) const { return kind == Kind::mark && text == mark; }
  bool is_word(std::string_view word) const { return kind == Kind::name && text == word; }
};

// Splits a text into tokens, ending in Kind::end. A comment runs from # to the end of its line. A line that begins
// further right than the line before continues that line. If the line before ends in a colon, the line begins a body
// instead, which reaches up to the first line that begins no further right than the line with the colon. Throws
// Error(input) at a character that has no meaning and at a line that begins between two levels. The tokens point into
// the source's text.
std::vector<Token> tokens_of(const Source& source);

}  // namespace mirfak::block
