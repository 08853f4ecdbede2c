#pragma once

#include "import/option_table.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Megatron-LM's options by name ("micro-batch-size", without dashes), from a file of any format. Options that are
// false, none or null count as not stated. An option whose value is not known (${TP}) is doubted, and `missing` lists
// the names that would have to be known.
class MegatronOptions : public OptionTable {
 public:
  MegatronOptions(ImportDraft& draft, const OptionList& list) : OptionTable(draft, list, "--") {}

  using Names = std::vector<std::string_view>;

  const Setting* said(const Names& names);              // the last setting with one of these names; nullptr: none
  const Setting* flag(const Names& names);              // the last setting without a value with one of these names
  std::optional<std::string> word(const Names& names);  // the value as one word, without quotes around it
  // Returns a whole number, also 9_765_625 and 1e6; Error(input) at any other value.
  std::optional<std::int64_t> count(const Names& names);
  std::optional<double> number(const Names& names);
  std::vector<std::string> words(const Names& names);  // the words of a list in any notation

  // Sets a key to a word by an option, which is taken if it is stated, and assumed otherwise.
  void put(const Setting* said, std::string_view key, const std::string& word, const std::string& reason,
           const std::string& unsaid);
  // Judge each of these options that is stated.
  void use_each(const Names& names, const std::string& reason);
  void leave_each(const Names& names, const std::string& reason);

  const std::vector<std::string>& missing() const { return missing_; }

 private:
  std::optional<OptionValue> value_of(const OptionEntry& entry) override;
  bool states(const OptionEntry& entry) override { return flag(entry.names()) != nullptr; }
  const Setting* named(const Names& names);

  std::vector<std::string> missing_;
};

// Returns the words after an option: the items of a list, or the parts of one word with blanks, without quotes and
// brackets.
std::vector<std::string> words_of(const Value& value);
// Returns the words of a value joined by blanks.
std::string word_of(const Value& value);
// True for words by which an option revokes itself: false, null, None.
bool says_no(const Value& value);

}  // namespace mirfak
