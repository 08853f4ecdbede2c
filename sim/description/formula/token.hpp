#pragma once

#include "base/document.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak::formula {

// Position in the text of a scalar: the index of a byte. All places compare equal, so that two syntax trees are equal
// whatever the positions of their parts.
struct Place {
  std::size_t offset = 0;

  friend bool operator==(const Place& /*a*/, const Place& /*b*/) { return true; }
};

struct Token {
  enum class Kind {
    name,     // letters, digits and _; a letter first
    number,   // 2, 0.5, 1e-3
    text,     // 'full', "full"
    mark,     // one of the marks of the language
    newline,  // the end of a line that is not empty
    indent,   // the next line begins further right, after a colon: it belongs to the line before
    dedent,   // the end of the lines after an indent
    end,
  };
  Kind kind = Kind::end;
  std::string_view text;  // a part of the source's text, without quotes
  Place place;
  double number = 0;     // Kind::number: its value; NaN if a double cannot hold the number
  bool touches = false;  // no space before it

  bool is(std::string_view mark) const { return kind == Kind::mark && text == mark; }
  bool is_word(std::string_view word) const { return kind == Kind::name && text == word; }
};

// Words and marks of a language.
struct Lexicon {
  std::span<const std::string_view> marks;  // longer ones first: the first mark that fits is taken
  // True: a quote begins a text, and dots join names (train.goodput). False: primes end names (s').
  bool texts = false;
};

// Reads the token that begins at byte `at`, and moves `at` past it. Kind::end, and `at` stays, at the end of the text
// and at a byte that begins no token. Throws Error(input) for a quoted text without its end.
Token read_token(const Node& source, std::size_t& at, const Lexicon& lexicon);

// Returns the tokens of a condition; the last token is Kind::end. Error(input) at a byte that begins no token, at a
// number beyond 2^53, at signs of other languages (&&, ||, !, =) with the sign to write instead, and for a text of more
// than 4096 bytes.
std::vector<Token> tokens_of_condition(const Node& source);

// Largest magnitude of numbers in conditions: whole numbers up to it are exact in double.
inline constexpr double kMaxWhole = 9007199254740992;

}  // namespace mirfak::formula
