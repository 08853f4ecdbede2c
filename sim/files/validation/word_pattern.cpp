#include "validation/word_pattern.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cctype>

namespace mirfak {

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

// Returns the end of the longest number that begins at `at`. "1." ends after the 1.
std::size_t end_of_number(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  const bool fraction = end > at && end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1]);
  if (!fraction) return end;
  ++end;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end;
}

}  // namespace

WordPattern WordPattern::parse(const Node& node) {
  WordPattern pattern;
  pattern.text_ = node.as_string();
  pattern.where_ = node.where();
  const std::string& text = pattern.text_;
  if (text.empty()) node.fail("expected a word, found an empty text");
  const auto literal = [&](char c) {
    if (pattern.parts_.empty() || pattern.parts_.back().kind != Part::Kind::literal) pattern.parts_.emplace_back();
    pattern.parts_.back().text += lower_case({&c, 1});
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '*') {
      pattern.parts_.push_back({Part::Kind::text, ""});
      continue;
    }
    if (text[at] != '{') {
      literal(text[at]);
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (end == std::string::npos)
      node.fail_at(at, "this brace is not closed", "close it: {name} is a number, {name:text} a text");
    std::string name = text.substr(at + 1, end - at - 1);
    const std::size_t colon = name.find(':');
    const bool any = colon != std::string::npos;
    if (any && name.substr(colon + 1) != "text") node.fail_at(at, "expected {name} or {name:text}");
    name = name.substr(0, colon);
    if (!is_name(name)) node.fail_at(at, "expected a name of letters, digits and _ in the braces");
    const std::vector<std::string> before = pattern.names();
    if (std::find(before.begin(), before.end(), name) != before.end()) {
      node.fail_at(at, "the name '" + name + "' appears twice in one word");
    }
    pattern.parts_.push_back({any ? Part::Kind::text : Part::Kind::number, name});
    at = end;
  }
  return pattern;
}

bool WordPattern::is_plain() const { return parts_.size() == 1 && parts_.front().kind == Part::Kind::literal; }

std::vector<std::string> WordPattern::names() const {
  std::vector<std::string> out;
  for (const Part& part : parts_) {
    if (part.kind != Part::Kind::literal && !part.text.empty()) out.push_back(part.text);
  }
  return out;
}

bool WordPattern::match_from(std::size_t part, std::string_view word, std::size_t at, Captures& out) const {
  if (part == parts_.size()) return at == word.size();
  const Part& now = parts_[part];
  if (now.kind == Part::Kind::literal) {
    if (word.size() - at < now.text.size() || lower_case(word.substr(at, now.text.size())) != now.text) return false;
    return match_from(part + 1, word, at + now.text.size(), out);
  }
  const bool number = now.kind == Part::Kind::number;
  const std::size_t min_end = at + (now.text.empty() ? 0 : 1);
  for (std::size_t end = number ? end_of_number(word, at) : word.size(); end >= min_end; --end) {
    if (number && !is_digit(word[end - 1])) continue;
    const std::size_t kept = out.size();
    if (!now.text.empty()) out.emplace_back(now.text, std::string(word.substr(at, end - at)));
    if (match_from(part + 1, word, end, out)) return true;
    out.resize(kept);
    if (end == 0) break;
  }
  return false;
}

std::optional<Captures> WordPattern::match(std::string_view word) const {
  Captures out;
  if (match_from(0, word, 0, out)) return out;
  return std::nullopt;
}

}  // namespace mirfak
