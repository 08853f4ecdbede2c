#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// What people write in the cells of a table of measured runs, looked at without regard to case.
class RunWords {
 public:
  explicit RunWords(std::string_view text);

  bool has(std::string_view phrase) const;  // in lower case
  bool has_any(std::initializer_list<std::string_view> phrases) const;

  // The value of "KEY=value" (`key` in lower case): up to the next comma, semicolon or blank, quotes removed.
  std::optional<std::string> value_of(std::string_view key) const;
  // The same for a switch: 1, true, yes, on or 0, false, no, off, none; nullopt for anything else.
  std::optional<bool> switch_of(std::string_view key) const;

  const std::string& text() const { return text_; }  // in lower case

 private:
  std::string text_;
};

// The words of a name, split where letters, digits and signs meet: "LLaMA3.1-8B" is llama, 3, 1, 8, b.
std::vector<std::string> name_words(std::string_view name);

}  // namespace mirfak
