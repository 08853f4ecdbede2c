#include "validation/run_words.hpp"

#include <algorithm>
#include <cctype>

namespace mirfak {

namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

RunWords::RunWords(std::string_view text) : text_(lower(text)) {}

bool RunWords::has(std::string_view phrase) const { return text_.find(phrase) != std::string::npos; }

bool RunWords::has_any(std::initializer_list<std::string_view> phrases) const {
  return std::any_of(phrases.begin(), phrases.end(), [this](std::string_view phrase) { return has(phrase); });
}

std::optional<std::string> RunWords::value_of(std::string_view key) const {
  const std::string wanted = std::string(key) + "=";
  for (std::size_t at = text_.find(wanted); at != std::string::npos; at = text_.find(wanted, at + 1)) {
    const bool inside_word = at > 0 && (is_letter(text_[at - 1]) || is_digit(text_[at - 1]) || text_[at - 1] == '_');
    if (inside_word) continue;
    const std::size_t begin = at + wanted.size();
    std::string value = text_.substr(begin, text_.find_first_of(",; \t", begin) - begin);
    std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
    return value;
  }
  return std::nullopt;
}

std::optional<bool> RunWords::switch_of(std::string_view key) const {
  const std::optional<std::string> value = value_of(key);
  if (!value) return std::nullopt;
  const auto is = [&](std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), *value) != words.end();
  };
  if (is({"1", "true", "yes", "on"})) return true;
  if (is({"0", "false", "no", "off", "none"})) return false;
  return std::nullopt;
}

std::vector<std::string> name_words(std::string_view name) {
  std::vector<std::string> words;
  char before = ' ';
  for (const char c : lower(name)) {
    const bool part = is_letter(c) || is_digit(c);
    const bool begins = part && (is_letter(c) != is_letter(before) || is_digit(c) != is_digit(before));
    if (begins) words.emplace_back();
    if (part) words.back() += c;
    before = c;
  }
  return words;
}

}  // namespace mirfak
