#pragma once

#include "base/document.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

// Word or sign of a rule expression.
struct RuleToken {
  enum class Kind : std::uint8_t { number, text, name, sign, end };
  Kind kind = Kind::end;
  std::string text;  // name or word (and, or, not, in, true, false), sign, or text without its quotes
  double number = 0;
  std::size_t at = 0;  // index of its first byte in the rule
};

// Cuts the text of a rule into tokens; the last token is Kind::end. Error(input) at a byte that starts no token, at a
// text without its closing quote, at a number beyond 2^53, at signs of other languages (&&, ||, !, =) with the sign to
// write instead, and for a rule of more than 4096 bytes.
std::vector<RuleToken> tokens_of_rule(const Node& rule);

// Largest magnitude of numbers in rules: whole numbers up to it are exact in double.
inline constexpr double kMaxInRules = 9007199254740992;

}  // namespace mirfak
