// Options that a program does not have, and that were meant as one of its options. Two kinds are distinguished from
// unrelated names: typing errors (--tensor-model-paralel-size), and names of another program or release that differ in
// one word (--tensor-parallel-size for --tensor-model-parallel-size, max_seq_len for max_seq_length).

#include "import/misspelt_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>
#include <vector>

namespace mirfak {

namespace {

constexpr std::size_t kLongestName = 80;

bool same_sign(char a, char b) {
  const auto plain = [](char sign) {
    return sign == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(sign)));
  };
  return plain(a) == plain(b);
}

// Returns the edits of one letter, and swaps of two neighbors, between two words; more than `most` count as `most` + 1.
std::size_t edits(std::string_view a, std::string_view b, std::size_t most) {
  const std::size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference > most) return most + 1;
  std::array<std::array<std::size_t, kLongestName + 1>, 3> rows{};
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const auto& last = rows.at((i - 1) % 3);
    const auto& before = rows.at((i + 1) % 3);
    auto& row = rows.at(i % 3);
    row[0] = i;
    std::size_t least = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row.at(j) =
          std::min({row.at(j - 1) + 1, last.at(j) + 1, last.at(j - 1) + (same_sign(a[i - 1], b[j - 1]) ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && same_sign(a[i - 1], b[j - 2]) && same_sign(a[i - 2], b[j - 1]);
      if (swapped) row.at(j) = std::min(row.at(j), before.at(j - 2) + 1);
      least = std::min(least, row.at(j));
    }
    if (least > most) return most + 1;
  }
  return std::min(rows.at(a.size() % 3).at(b.size()), most + 1);
}

// True if two words differ in digits only: load_in_4bit and load_in_8bit are two options.
bool differ_in_figures_only(std::string_view a, std::string_view b) {
  const auto letters = [](std::string_view text) {
    std::string out(text);
    std::erase_if(out, [](unsigned char sign) { return std::isdigit(sign) != 0; });
    return out;
  };
  const std::string of_a = letters(a);
  return of_a.size() < a.size() && of_a == letters(b);
}

std::vector<std::string_view> words_between_hyphens(std::string_view name);

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_sign);
}

// True if a word of two or three letters differs, as in tp_size and cp_size: these are two options.
bool differ_in_a_short_word(std::string_view a, std::string_view b) {
  constexpr std::size_t shortest = 4;
  const std::vector<std::string_view> of_a = words_between_hyphens(a);
  const std::vector<std::string_view> of_b = words_between_hyphens(b);
  if (of_a.size() != of_b.size()) return false;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    if (!same_word(of_a[i], of_b[i]) && std::min(of_a[i].size(), of_b[i].size()) < shortest) return true;
  }
  return false;
}

std::vector<std::string_view> words_between_hyphens(std::string_view name) {
  std::vector<std::string_view> out;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of("-_"), name.size());
    if (end > 0) out.push_back(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return out;
}

// True for an abbreviation: len for length, params for parameters.
bool is_short_for(std::string_view a, std::string_view b) {
  return a.size() >= 3 && b.size() > a.size() && same_word(a, b.substr(0, a.size()));
}

// True if `longer` is `shorter` with one word more.
bool has_one_word_more(const std::vector<std::string_view>& longer, const std::vector<std::string_view>& shorter) {
  if (longer.size() != shorter.size() + 1 || shorter.size() < 2) return false;
  std::size_t at = 0;
  while (at < shorter.size() && same_word(longer[at], shorter[at])) ++at;
  return std::equal(shorter.begin() + static_cast<std::ptrdiff_t>(at), shorter.end(),
                    longer.begin() + static_cast<std::ptrdiff_t>(at) + 1, longer.end(), same_word);
}

bool has_a_word_shortened(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  if (a.size() != b.size() || a.size() < 2) return false;
  int shortened = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (same_word(a[i], b[i])) continue;
    if (!is_short_for(a[i], b[i]) && !is_short_for(b[i], a[i])) return false;
    ++shortened;
  }
  return shortened == 1;
}

}  // namespace

Likeness likeness(std::string_view word, std::string_view name) {
  // Equal sections before the names do not count; names in different sections are not alike.
  const std::size_t dot = word.rfind('.');
  if (dot != std::string_view::npos) {
    if (name.size() <= dot || word.substr(0, dot + 1) != name.substr(0, dot + 1)) return Likeness::none;
    word.remove_prefix(dot + 1);
    name.remove_prefix(dot + 1);
  }
  if (word.size() > kLongestName || name.size() > kLongestName) return Likeness::none;
  const std::size_t shorter = std::min(word.size(), name.size());
  const std::size_t most = shorter < 5 ? 0 : shorter < 9 ? 1 : 2;
  const bool others = differ_in_figures_only(word, name) || differ_in_a_short_word(word, name);
  if (most > 0 && !others && edits(word, name, most) <= most) return Likeness::same_letters;
  const std::vector<std::string_view> said = words_between_hyphens(word);
  const std::vector<std::string_view> known = words_between_hyphens(name);
  const bool missing = known.size() >= 3 && has_one_word_more(known, said);
  const bool added = known.size() >= 3 && has_one_word_more(said, known);
  return missing || added || has_a_word_shortened(said, known) ? Likeness::same_words : Likeness::none;
}

}  // namespace mirfak
