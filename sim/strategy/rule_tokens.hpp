#pragma once

#include "base/document.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

// A word or sign of a rule expression.
struct RuleToken {
  enum class Kind : std::uint8_t { number, text, name, sign, end };
  Kind kind = Kind::end;
  std::string text;  // a name or word (and, or, not, in, true, false), a sign, or a text without its quotes
  double number = 0;
  std::size_t at = 0;  // its first byte in the rule
};

// Cuts the text of a rule into tokens, the last of Kind::end. Error(input) at the byte that starts none, at a text
// without its end, at a number beyond 2^53, at signs of other languages (&&, ||, !, =) with what is written here, and
// for a rule of more than 4096 bytes.
std::vector<RuleToken> tokens_of_rule(const Node& rule);

// The largest size of numbers in rules: up to it whole numbers are exact in double.
inline constexpr double kMaxInRules = 9007199254740992;

}  // namespace mirfak
