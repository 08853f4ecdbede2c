#pragma once

#include "import/import_draft.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Megatron-LM's options by name ("micro-batch-size", without dashes), of whatever file they came from. Options that are
// false, none or null count as not said. An option whose value is not known (${TP}) is doubted, and `missing` says
// what would have to be known.
class MegatronOptions {
 public:
  explicit MegatronOptions(ImportDraft& draft) : draft_(draft) {}

  using Names = std::vector<std::string_view>;

  const Setting* said(const Names& names);              // the last with one of these names; nullptr: nobody says it
  const Setting* flag(const Names& names);              // the same of one without a value
  std::optional<std::string> word(const Names& names);  // the value as one word, without quotes around it
  // A whole number, also 9_765_625 and 1e6; Error(input) at the value for another.
  std::optional<std::int64_t> count(const Names& names);
  std::optional<double> number(const Names& names);
  std::vector<std::string> words(const Names& names);  // the words of a list, however it is written

  ImportDraft& draft() { return draft_; }
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  ImportDraft& draft_;
  std::vector<std::string> missing_;
};

// The words that stand behind an option: those of a list, or of one word with blanks, quotes and brackets taken off.
std::vector<std::string> words_of(const Value& value);
// One word: the words joined by blanks.
std::string word_of(const Value& value);

}  // namespace mirfak
