#include "import/pipeline_layout.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

constexpr std::size_t kMostSigns = 1 << 16;  // stages and signs of a layout with its repetitions written out

// One pass from left to right over a layout: the stages so far, and the part that a `*` would repeat.
class LayoutText {
 public:
  LayoutText(std::string_view text, const Location& where) : text_(text), where_(where) {}

  std::string expanded() {
    std::string out = sequence(0);
    if (at_ < text_.size()) fail("a closing parenthesis without an opening one");
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    fail_input(where_, fmt::format("pipeline layout '{}': {}", excerpt(text_), what),
               "expected E, t, m, L and | with repetitions, such as Et*4|(tttt|)*14tmL");
  }

  std::string sequence(int depth) {
    if (depth > 16) fail("nested too deep");
    std::string out;
    while (at_ < text_.size() && text_[at_] != ')') {
      const char sign = text_[at_++];
      if (sign == ',' || sign == ' ' || sign == '\\' || sign == '\'' || sign == '"') continue;
      std::string part(1, sign);
      if (sign == '(') {
        part = sequence(depth + 1);
        if (at_ == text_.size()) fail("an open parenthesis");
        ++at_;
      } else if (std::string_view("EtmL|").find(sign) == std::string_view::npos) {
        fail(fmt::format("'{}' is none of its signs", sign));
      }
      append(out, part, repetitions());
    }
    return out;
  }

  std::size_t repetitions() {
    if (at_ == text_.size() || text_[at_] != '*') return 1;
    const std::size_t begin = ++at_;
    std::size_t count = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && count < kMostSigns) {
      count = count * 10 + static_cast<std::size_t>(text_[at_++] - '0');
    }
    if (at_ == begin) fail("a number is missing after *");
    return count;
  }

  void append(std::string& out, const std::string& part, std::size_t count) const {
    if (part.size() * count + out.size() > kMostSigns) fail("too long");
    for (std::size_t i = 0; i < count; ++i) out += part;
  }

  std::string_view text_;
  const Location& where_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::string> pipeline_layout_stages(std::string_view text, const Location& where) {
  const std::string all = LayoutText(text, where).expanded();
  std::vector<std::string> stages(1);
  for (const char sign : all) {
    if (sign == '|') {
      stages.emplace_back();
    } else {
      stages.back() += sign;
    }
  }
  return stages;
}

std::vector<int> layers_of_stages(const std::vector<std::string>& stages) {
  std::vector<int> out;
  for (const std::string& stage : stages) out.push_back(static_cast<int>(std::count(stage.begin(), stage.end(), 't')));
  return out;
}

}  // namespace mirfak
