#include "import/shell_interpreter.hpp"

namespace mirfak {

namespace {

// True if a sign is in the set that begins at `at` of the pattern, after its '['; `at` moves past its ']'. nullopt: a
// set without an end, whose bracket stands for itself.
std::optional<bool> in_set(char sign, std::string_view pattern, std::size_t& at) {
  std::size_t i = at;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool found = false;
  for (bool first = true; i < pattern.size() && (first || pattern[i] != ']'); first = false) {
    if (pattern.compare(i, 2, "[:") == 0) {
      const std::size_t end = pattern.find(":]", i);
      if (end == std::string_view::npos) return std::nullopt;
      const std::string_view kind = pattern.substr(i + 2, end - i - 2);
      const bool digit = sign >= '0' && sign <= '9';
      const bool lower = sign >= 'a' && sign <= 'z';
      const bool upper = sign >= 'A' && sign <= 'Z';
      const bool blank = sign == ' ' || sign == '\t' || sign == '\n';
      found = found || (kind == "digit" && digit) || (kind == "lower" && lower) || (kind == "upper" && upper) ||
              (kind == "alpha" && (lower || upper)) || (kind == "alnum" && (lower || upper || digit)) ||
              (kind == "space" && blank);
      i = end + 2;
      continue;
    }
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    const char low = pattern[i++];
    char high = low;
    if (i + 1 < pattern.size() && pattern[i] == '-' && pattern[i + 1] != ']') {
      high = pattern[i + 1];
      i += 2;
    }
    found = found || (sign >= low && sign <= high);
  }
  if (i >= pattern.size()) return std::nullopt;
  at = i + 1;
  return found != negated;
}

}  // namespace

// Matches with two cursors; after a star the rest is tried from one place after another.
bool fits_shell_pattern(std::string_view text, std::string_view pattern) {
  std::size_t t = 0;
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t from = 0;
  while (t < text.size() || p < pattern.size()) {
    bool fits = false;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
      continue;
    }
    if (p < pattern.size() && t < text.size()) {
      std::size_t behind = p + 1;
      if (pattern[p] == '?') {
        fits = true;
      } else if (pattern[p] == '[') {
        const std::optional<bool> member = in_set(text[t], pattern, behind);
        fits = member.value_or(text[t] == '[');
      } else {
        if (pattern[p] == '\\' && p + 1 < pattern.size()) ++behind;
        fits = pattern[behind - 1] == text[t];
      }
      if (fits) {
        p = behind;
        ++t;
      }
    }
    if (fits) continue;
    if (star == std::string_view::npos || from >= text.size()) return false;
    p = star + 1;
    t = ++from;
  }
  return true;
}

}  // namespace mirfak
