#include "base/suggestion.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

constexpr std::size_t kFew = 5;
constexpr std::size_t kMostListed = 16;  // a number of words that is read at a glance

// Returns only the word's letters and digits, in lower case.
std::string bare(std::string_view word) {
  std::string out;
  for (const unsigned char c : word.substr(0, 100)) {
    if (std::isalnum(c) != 0) out += static_cast<char>(std::tolower(c));
  }
  return out;
}

// Counts the pairs of neighbouring letters that two words share, and adds kHeld if one word contains the other.
std::size_t likeness(const std::string& word, const std::string& other) {
  constexpr std::size_t kHeld = 1000;
  const auto pairs = [](const std::string& of) {
    std::set<std::pair<char, char>> out;
    for (std::size_t i = 0; i + 1 < of.size(); ++i) out.emplace(of[i], of[i + 1]);
    return out;
  };
  const auto own = pairs(word);
  const auto theirs = pairs(other);
  const auto shared = static_cast<std::size_t>(
      std::count_if(own.begin(), own.end(), [&](const auto& pair) { return theirs.contains(pair); }));
  const bool holds = word.size() > 1 && other.size() > 1 &&
                     (word.find(other) != std::string::npos || other.find(word) != std::string::npos);
  return shared + (holds ? kHeld : 0);
}

// Returns the number of letters by which two lengths differ.
std::size_t difference(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

// Returns the words most like `word`, the best first: of equally like words those with the fewest other letters; at
// most kFew.
std::vector<std::string> likest(std::string_view word, std::span<const std::string> known) {
  const std::string sought = bare(word);
  struct Candidate {
    std::size_t likeness;
    std::size_t letters;  // by which the lengths differ
    std::size_t place;
  };
  std::vector<Candidate> order;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::string own = bare(known[i]);
    order.push_back({likeness(sought, own), difference(sought.size(), own.size()), i});
  }
  std::sort(order.begin(), order.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(b.likeness, a.letters, a.place) < std::tuple(a.likeness, b.letters, b.place);
  });
  order.resize(std::min(order.size(), kFew));
  std::vector<std::string> out;
  for (const Candidate& one : order) out.push_back(known[one.place]);
  return out;
}

// True if a word is a whole part of several known words, as "h100" is of "hgx-h100" and "h100-nvl-8": it says
// something, and is no misspelling of one of these.
bool is_part_of_several(std::string_view word, std::span<const std::string> known) {
  const std::string sought = "-" + bare(word) + "-";
  return 1 < std::count_if(known.begin(), known.end(), [&](const std::string& one) {
           return ("-" + lower_case(one) + "-").find(sought) != std::string::npos;
         });
}

}  // namespace

std::string suggestion(std::string_view word, std::span<const std::string> known) {
  if (known.empty()) return {};
  const bool part = known.size() > kMostListed && is_part_of_several(word, known);
  if (const std::string close = nearest(word, known); !part && !close.empty())
    return fmt::format("did you mean '{}'?", close);
  if (known.size() <= kMostListed) return "expected " + join_or(known);
  return fmt::format("expected one of {}, such as {}", known.size(), join_or(likest(word, known)));
}

}  // namespace mirfak
