#include "base/suggestion.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
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

// Returns the words most like `word`, in the order in which they are known; at most kFew.
std::vector<std::string> likest(std::string_view word, std::span<const std::string> known) {
  const std::string sought = bare(word);
  std::vector<std::pair<std::size_t, std::size_t>> order;  // likeness, place
  for (std::size_t i = 0; i < known.size(); ++i) order.emplace_back(likeness(sought, bare(known[i])), i);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  order.resize(std::min(order.size(), kFew));
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::string> out;
  for (const auto& [like, place] : order) out.push_back(known[place]);
  return out;
}

}  // namespace

std::string suggestion(std::string_view word, std::span<const std::string> known) {
  if (known.empty()) return {};
  if (const std::string close = nearest(word, known); !close.empty()) return fmt::format("did you mean '{}'?", close);
  if (known.size() <= kMostListed) return "expected " + join_or(known);
  return fmt::format("expected one of {}, such as {}", known.size(), join_or(likest(word, known)));
}

}  // namespace mirfak
