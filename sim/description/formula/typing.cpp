// Types of the parts of conditions. A text in quotes has no type of its own: it becomes a number when the choice or the
// set that it is compared with says of which list it is a word.

#include "formula/parser.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mirfak::formula {

namespace {

constexpr std::array<std::string_view, 6> kWords = {"and", "or", "not", "in", "true", "false"};

[[noreturn]] void fail_at_unknown(const Node& source, const Token& found, const Vocabulary& vocabulary) {
  const std::string word(found.text);
  std::vector<std::string> names(kWords.begin(), kWords.end());
  for (const Name& each : vocabulary.names) names.emplace_back(each.name);
  std::string hint = did_you_mean(word, names, std::string(vocabulary.otherwise));
  for (const Name& each : vocabulary.names) {
    if (each.name.ends_with("." + word)) hint = fmt::format("did you mean '{}'?", each.name);
    if (each.words == nullptr || std::find(each.words().begin(), each.words().end(), word) == each.words().end())
      continue;
    hint = fmt::format("a value of {} is written in quotes: '{}'", each.name, word);
  }
  source.fail_at(found.place.offset, fmt::format("unknown name '{}'", excerpt(word)), hint);
}

}  // namespace

Formula Parser::named() {
  const Token& found = now();
  if (std::find(kWords.begin(), kWords.end(), found.text) != kWords.end()) expected(language_.operand);
  const std::span<const Name> names = language_.vocabulary->names;
  const auto known =
      std::find_if(names.begin(), names.end(), [&](const Name& each) { return each.name == found.text; });
  if (known == names.end()) fail_at_unknown(source_, found, *language_.vocabulary);
  Formula out;
  out.kind = Kind::name;
  out.type = known->type;
  out.whole = known->whole;
  out.index = static_cast<std::uint16_t>(known - names.begin());
  out.word = known->name;
  out.place = take().place;
  return out;
}

// Returns the index of a text among the words of a choice or set.
std::size_t Parser::index_among(const Formula& text, const Formula& words_of) const {
  const std::vector<std::string>& words = name_of(words_of).words();
  const auto found = std::find(words.begin(), words.end(), text.word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  source_.fail_at(
      text.place.offset,
      fmt::format("'{}' is not a value of {}: expected {}", excerpt(text.word), words_of.word, join_or(words)),
      did_you_mean(text.word, words, ""));
}

std::string Parser::described(const Formula& part) const {
  constexpr std::array<std::string_view, 5> kinds = {"a number", "true or false", "a choice", "a set of modules",
                                                     "a text"};
  const std::string word = part.word.empty() ? std::string() : fmt::format(" '{}'", excerpt(part.word));
  return fmt::format("{}{}", kinds[static_cast<std::size_t>(part.type)], word);
}

void Parser::require(Type type, const Formula& part) const {
  if (part.type == type) return;
  const bool truth = type == Type::truth;
  source_.fail_at(
      part.place.offset, fmt::format("expected a {}, found {}", truth ? "condition" : "number", described(part)),
      truth ? fmt::format("compare it with something, for example {}", language_.vocabulary->examples) : "");
}

void Parser::require_computable(const Formula& left, const Formula& right) const {
  require(Type::number, left);
  require(Type::number, right);
  const bool rounds = right.by == Operation::floor_divide || right.by == Operation::remainder;
  if (rounds && !(left.whole && right.whole)) {
    source_.fail_at(right.sign.offset, "expected whole numbers on both sides",
                    "'//' divides and rounds down, '/' leaves a fraction");
  }
  const bool zero = right.kind == Kind::number && right.number == 0;
  if ((rounds || right.by == Operation::divide) && zero) source_.fail_at(right.place.offset, "division by zero");
}

void Parser::require_comparable(Formula& left, Formula& right) const {
  const Formula* ordered = &right;
  if (left.type == Type::text && right.type == Type::choice) {
    left.number = static_cast<double>(index_among(left, right));
  } else if (left.type == Type::choice && right.type == Type::text) {
    right.number = static_cast<double>(index_among(right, left));
    ordered = &left;
  } else if (left.type == Type::set || right.type == Type::set) {
    source_.fail_at(left.place.offset, "a set of modules is not compared", "write 'moe' in recompute_modules");
  } else if (left.type != right.type || left.type == Type::text ||
             (left.type == Type::choice && &name_of(left).words() != &name_of(right).words())) {
    source_.fail_at(right.place.offset,
                    fmt::format("{} cannot be compared with {}", described(left), described(right)));
  }
  const bool equality = right.by == Operation::equal || right.by == Operation::not_equal;
  if (equality || ordered->type == Type::number) return;
  source_.fail_at(ordered->place.offset, fmt::format("{} has no order", described(*ordered)),
                  "compare it with == or !=");
}

}  // namespace mirfak::formula
