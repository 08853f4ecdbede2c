#include "base/name_words.hpp"

#include <cctype>

namespace mirfak {

std::vector<std::string> name_words(std::string_view name) {
  enum class Sign { other, letter, digit };
  std::vector<std::string> words;
  Sign before = Sign::other;
  for (const unsigned char c : name) {
    const Sign sign = std::isalpha(c) != 0 ? Sign::letter : std::isdigit(c) != 0 ? Sign::digit : Sign::other;
    if (sign != Sign::other && sign != before) words.emplace_back();
    if (sign != Sign::other) words.back() += static_cast<char>(std::tolower(c));
    before = sign;
  }
  return words;
}

}  // namespace mirfak
