#include "import/layer_pattern.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string>

namespace mirfak {

namespace {

// sum: product ('+' product)*; product: factor ('*' number)*; factor: '(' sum ')' or '[' numbers ']'
class ListExpression {
 public:
  ListExpression(std::string_view text, const Location& where) : text_(text), where_(where) {}

  std::vector<std::int64_t> whole() {
    std::vector<std::int64_t> out = sum(0);
    if (peek() != '\0') fail();
    return out;
  }

 private:
  [[noreturn]] void fail() const {
    fail_input(where_, fmt::format("'{}' is not understood at character {}", excerpt(text_), at_ + 1),
               "expected lists of numbers, their sums and repetitions: ([0]*3+[1]*58)");
  }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\'' || text_[at_] == '"')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  std::int64_t number() {
    peek();
    std::int64_t out = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
    if (error != std::errc{}) fail();
    at_ = static_cast<std::size_t>(end - text_.data());
    return out;
  }

  std::vector<std::int64_t> sum(int depth) {
    std::vector<std::int64_t> out = product(depth);
    while (peek() == '+') {
      ++at_;
      const std::vector<std::int64_t> more = product(depth);
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }

  std::vector<std::int64_t> product(int depth) {
    std::vector<std::int64_t> out = factor(depth);
    while (peek() == '*') {
      ++at_;
      const std::int64_t count = number();
      constexpr std::int64_t most = 100'000;
      if (count < 0 || count > most || static_cast<std::int64_t>(out.size()) * count > most) fail();
      const std::vector<std::int64_t> once = out;
      out.clear();
      for (std::int64_t i = 0; i < count; ++i) out.insert(out.end(), once.begin(), once.end());
    }
    return out;
  }

  std::vector<std::int64_t> factor(int depth) {
    if (depth > 16) fail();
    const char sign = peek();
    ++at_;
    std::vector<std::int64_t> out;
    if (sign == '(') {
      out = sum(depth + 1);
      if (peek() != ')') fail();
    } else if (sign == '[') {
      while (peek() != ']') {
        out.push_back(number());
        if (peek() == ',') ++at_;
      }
    } else {
      --at_;
      fail();
    }
    ++at_;
    return out;
  }

  std::string_view text_;
  const Location& where_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::int64_t> python_list(std::string_view text, const Location& where) {
  return ListExpression(text, where).whole();
}

}  // namespace mirfak
