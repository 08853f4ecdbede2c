#include "base/text.hpp"

#include <fmt/format.h>
#include <boost/locale/utf.hpp>

#include <algorithm>
#include <cctype>

namespace mirfak {

namespace {

char lower(char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Optimal string alignment distance, case-insensitive: edits of one letter and swaps of two neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> before_last(width), last(width), row(width);
  for (std::size_t j = 0; j < width; ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j < width; ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({row[j - 1] + 1, last[j] + 1, last[j - 1] + (same ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

// Returns the name whose parts are those of `word` in their order, with the fewest others: people leave separators and
// parts out. A word without a number says too little. "": none.
std::string name_with_parts(std::string_view word, std::span<const std::string> names) {
  const std::vector<std::string> sought = name_words(word);
  const bool numbered = std::any_of(sought.begin(), sought.end(),
                                    [](const std::string& part) { return std::isdigit(part.front()) != 0; });
  if (!numbered || sought.size() < 2) return {};
  std::string found;
  std::size_t fewest = 0;
  for (const std::string& name : names) {
    const std::vector<std::string> parts = name_words(name);
    std::size_t next = 0;
    for (const std::string& part : parts) {
      if (next < sought.size() && part == sought[next]) ++next;
    }
    if (next < sought.size() || (!found.empty() && parts.size() >= fewest)) continue;
    found = name;
    fewest = parts.size();
  }
  return found;
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t longest = 100;  // nobody misspells a longer word; bounds the work on hostile input
  if (word.size() > longest) return {};
  std::size_t best = std::min(std::max<std::size_t>(2, word.size() / 3) + 1, std::max<std::size_t>(1, word.size()));
  std::string found;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  if (best <= 1) return found;
  if (std::string name = name_with_parts(word, candidates); !name.empty()) return name;
  const auto shortened = std::find_if(candidates.begin(), candidates.end(), [&](const std::string& candidate) {
    return word.size() > 2 && candidate.size() > word.size() && candidate.starts_with(word) &&
           std::string_view("-_.").find(candidate[word.size()]) != std::string_view::npos;
  });
  return shortened == candidates.end() ? found : *shortened;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates, std::string otherwise) {
  const std::string close = nearest(word, candidates);
  return close.empty() ? std::move(otherwise) : fmt::format("did you mean '{}'?", close);
}

std::string excerpt(std::string_view text, std::size_t longest) {
  using Utf8 = boost::locale::utf::utf_traits<char>;
  std::string out;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const char* const begin = at;
    const boost::locale::utf::code_point character = Utf8::decode(at, end);
    if (out.size() + static_cast<std::size_t>(at - begin) > longest) return out + "...";
    const bool printable = boost::locale::utf::is_valid_codepoint(character) && character >= 0x20 && character != 0x7f;
    out += printable ? std::string(begin, at) : "?";
  }
  return out;
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

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

std::string nth_line(std::string_view text, int number) {
  if (number < 1) return {};
  for (int i = 1; i < number; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return std::string(line);
}

std::string join_or(std::span<const std::string> words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string ranges_text(const std::vector<int>& numbers) {
  std::string out;
  for (std::size_t first = 0; first < numbers.size();) {
    std::size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!out.empty()) out += ", ";
    out += last == first ? fmt::format("{}", numbers[first]) : fmt::format("{}-{}", numbers[first], numbers[last]);
    first = last + 1;
  }
  return out;
}

}  // namespace mirfak
