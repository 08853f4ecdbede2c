#pragma once

#include "import/import_draft.hpp"
#include "launch/option_list.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace mirfak {

// The value of an option for a table: the setting that states it (nullptr: the program's own word, which no file
// states), and its value as one of the table's words ("true" for a flag, "4" for a count, words of a list joined by
// blanks).
struct OptionValue {
  const Setting* setting = nullptr;
  std::string word;
};

// Reads options with the meanings of a program's list of options into a draft. Each program has its own rules for
// values that count as not stated, and for values that it refuses.
class OptionTable {
 public:
  virtual ~OptionTable() = default;

  ImportDraft& draft() { return draft_; }
  // Reads an option by its name without dashes: takes its key, or gives the verdict of its table. An option that no
  // file states sets its key to the default; `fallback` and `why` replace the table's. Returns the word of the key.
  std::string read(std::string_view name);
  std::string read(std::string_view name, std::string fallback, std::string why = {});
  // Reads all options of a part, in the order of the list.
  void read_part(std::string_view part);
  // Returns the entry of an option. Error(internal) if the list has none.
  const OptionEntry& entry(std::string_view name) const;

 protected:
  OptionTable(ImportDraft& draft, const OptionList& list, std::string dashes = "");

  // Returns the value of an option; nullopt: no file states the option, and the program has no word of its own for it.
  // Error(input) for a value that is not of the entry's form.
  virtual std::optional<OptionValue> value_of(const OptionEntry& entry) = 0;
  // True if a file states the option, and a flag is on.
  virtual bool states(const OptionEntry& entry) = 0;
  // Gives the verdict of a meaning on an option, and sets `key` to the word of the meaning if there is one.
  virtual void give(const OptionEntry& entry, const OptionValue& value, std::string_view key,
                    const OptionMeaning& meaning);

  const OptionList& list() const { return list_; }

 private:
  std::string read(const OptionEntry& entry);
  std::string assume(const OptionEntry& entry);
  const OptionCondition* unmet(const std::vector<OptionCondition>& conditions);

  ImportDraft& draft_;
  const OptionList& list_;
  std::string dashes_;
};

// Returns the value under a key such as "strategy.tensor"; nullptr: none. `nearest`: becomes the place of the last
// value on the way that has one.
const Value* value_under(const Value& root, std::string_view key, Location* nearest = nullptr);
// Returns that value on one line, "" if there is none; of a draft, the value of its scenario so far.
std::string word_under(const Value& root, std::string_view key);
std::string word_under(const ImportDraft& draft, std::string_view key);

}  // namespace mirfak
