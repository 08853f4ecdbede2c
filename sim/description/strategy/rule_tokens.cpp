#include "strategy/rule_tokens.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>
#include <system_error>

namespace mirfak {

namespace {

constexpr std::size_t kMaxRuleBytes = 4096;

// Signs, longer ones first: the longest sign that fits is taken.
constexpr std::array<std::string_view, 17> kSigns = {"//", "==", "!=", "<=", ">=", "<", ">", "+", "-",
                                                     "*",  "/",  "%",  "(",  ")",  "[", "]", ","};

// Sign of another language, and the sign to write here.
struct ForeignSign {
  std::string_view sign;
  std::string_view here;
};
constexpr std::array<ForeignSign, 4> kForeignSigns = {{{"&&", "and"}, {"||", "or"}, {"!", "not"}, {"=", "=="}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_in_name(char c) { return starts_name(c) || is_digit(c); }

class Cutter {
 public:
  explicit Cutter(const Node& rule) : rule_(rule), text_(rule.value().scalar) {}

  std::vector<RuleToken> cut() {
    if (text_.size() > kMaxRuleBytes) rule_.fail(fmt::format("a rule of more than {} bytes", kMaxRuleBytes));
    std::vector<RuleToken> tokens;
    while (true) {
      while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
      tokens.push_back(next());
      if (tokens.back().kind == RuleToken::Kind::end) return tokens;
    }
  }

 private:
  RuleToken next() {
    if (at_ == text_.size()) return {RuleToken::Kind::end, {}, 0, at_};
    const char c = text_[at_];
    if (starts_name(c)) return name();
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return number();
    if (c == '\'' || c == '"') return quoted();
    return sign();
  }

  RuleToken name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_in_name(text_[at_]) || joins_names(at_))) ++at_;
    return {RuleToken::Kind::name, std::string(text_.substr(begin, at_ - begin)), 0, begin};
  }

  // True at a dot that joins names, as in "train.goodput".
  bool joins_names(std::size_t at) const {
    return text_[at] == '.' && at + 1 < text_.size() && starts_name(text_[at + 1]);
  }

  RuleToken number() {
    const std::size_t begin = at_;
    double value = 0;
    const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    at_ = static_cast<std::size_t>(stop - text_.data());
    if (error != std::errc() || value > kMaxInRules) rule_.fail_at(begin, "expected a number of at most 2^53");
    if (at_ < text_.size() && is_in_name(text_[at_])) {
      rule_.fail_at(at_, fmt::format("a number does not go on with '{}'", text_[at_]));
    }
    return {RuleToken::Kind::number, std::string(text_.substr(begin, at_ - begin)), value, begin};
  }

  RuleToken quoted() {
    const std::size_t begin = at_;
    const std::size_t end = text_.find(text_[begin], begin + 1);
    if (end == std::string_view::npos) rule_.fail_at(begin, "a quoted text without its end");
    at_ = end + 1;
    return {RuleToken::Kind::text, std::string(text_.substr(begin + 1, end - begin - 1)), 0, begin};
  }

  RuleToken sign() {
    const std::string_view rest = text_.substr(at_);
    const auto starts = [&](std::string_view sign) { return rest.starts_with(sign); };
    for (const ForeignSign& foreign : kForeignSigns) {
      const bool is_own = std::any_of(kSigns.begin(), kSigns.end(), [&](std::string_view own) {
        return own.size() > foreign.sign.size() && starts(own);
      });
      if (!starts(foreign.sign) || is_own) continue;
      rule_.fail_at(at_, fmt::format("'{}' is not a sign of rules", foreign.sign),
                    fmt::format("write '{}'", foreign.here));
    }
    const auto* const found = std::find_if(kSigns.begin(), kSigns.end(), starts);
    if (found == kSigns.end()) rule_.fail_at(at_, fmt::format("unexpected '{}'", excerpt(rest, 20)));
    const std::size_t begin = at_;
    at_ += found->size();
    return {RuleToken::Kind::sign, std::string(*found), 0, begin};
  }

  const Node& rule_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<RuleToken> tokens_of_rule(const Node& rule) { return Cutter(rule).cut(); }

}  // namespace mirfak
