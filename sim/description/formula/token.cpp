#include "formula/token.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

namespace mirfak::formula {

namespace {

constexpr std::size_t kMaxBytes = 4096;  // of a condition

constexpr std::array<std::string_view, 17> kMarks = {"//", "==", "!=", "<=", ">=", "<", ">", "+", "-",
                                                     "*",  "/",  "%",  "(",  ")",  "[", "]", ","};

// Signs of other languages, each with the sign to write in a condition.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kForeignSigns = {
    {{"&&", "and"}, {"||", "or"}, {"!", "not"}, {"=", "=="}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::size_t name_length(std::string_view text, const Lexicon& lexicon) {
  std::size_t end = 0;
  const auto joins = [&] { return text[end] == '.' && end + 1 < text.size() && is_letter(text[end + 1]); };
  while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]) || (lexicon.texts && joins()))) ++end;
  while (!lexicon.texts && end < text.size() && text[end] == '\'') ++end;
  return end;
}

[[noreturn]] void fail_at_no_token(const Node& source, std::size_t at) {
  const std::string_view rest = std::string_view(source.value().scalar).substr(at);
  for (const auto& [sign, here] : kForeignSigns) {
    if (!rest.starts_with(sign)) continue;
    source.fail_at(at, fmt::format("'{}' is not a sign of rules", sign), fmt::format("write '{}'", here));
  }
  source.fail_at(at, fmt::format("unexpected '{}'", excerpt(rest, 20)));
}

}  // namespace

Token read_token(const Node& source, std::size_t& at, const Lexicon& lexicon) {
  const std::string_view rest = std::string_view(source.value().scalar).substr(at);
  Token token;
  token.place = {at};
  if (rest.empty()) return token;
  std::size_t length = 0;
  if (is_letter(rest[0])) {
    token.kind = Token::Kind::name;
    length = name_length(rest, lexicon);
  } else if (is_digit(rest[0]) || (rest[0] == '.' && rest.size() > 1 && is_digit(rest[1]))) {
    token.kind = Token::Kind::number;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), token.number);
    if (error != std::errc()) token.number = std::numeric_limits<double>::quiet_NaN();
    length = static_cast<std::size_t>(stop - rest.data());
  } else if (lexicon.texts && (rest[0] == '\'' || rest[0] == '"')) {
    const std::size_t end = rest.find(rest[0], 1);
    if (end == std::string_view::npos) source.fail_at(token.place.offset, "a quoted text without its end");
    at += end + 1;
    token.kind = Token::Kind::text;
    token.text = rest.substr(1, end - 1);
    return token;
  } else {
    const auto found = std::find_if(lexicon.marks.begin(), lexicon.marks.end(),
                                    [&](std::string_view mark) { return rest.starts_with(mark); });
    if (found == lexicon.marks.end()) return token;
    token.kind = Token::Kind::mark;
    length = found->size();
  }
  token.text = rest.substr(0, length);
  at += length;
  return token;
}

std::vector<Token> tokens_of_condition(const Node& source) {
  const std::string& text = source.value().scalar;
  if (text.size() > kMaxBytes) source.fail(fmt::format("a rule of more than {} bytes", kMaxBytes));
  std::vector<Token> tokens;
  std::size_t at = 0;
  do {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
    const Token token = read_token(source, at, {kMarks, true});
    if (token.kind == Token::Kind::end && at < text.size()) fail_at_no_token(source, at);
    if (token.kind == Token::Kind::number) {
      if (!(token.number <= kMaxWhole)) source.fail_at(token.place.offset, "expected a number of at most 2^53");
      if (at < text.size() && (is_letter(text[at]) || is_digit(text[at]))) {
        source.fail_at(at, fmt::format("a number does not go on with '{}'", text[at]));
      }
    }
    tokens.push_back(token);
  } while (tokens.back().kind != Token::Kind::end);
  return tokens;
}

}  // namespace mirfak::formula
