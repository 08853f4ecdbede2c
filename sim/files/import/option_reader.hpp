#pragma once

#include "import/option_table.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Returns the leaves of a mapping as settings: names joined by dots ("training.seq_len"), lists and empty mappings as
// values. `sign`: the text between name and value in the file, ": " in YAML or " = " in TOML. Error(input) for more
// than `kMaxSettings` settings.
std::vector<Setting> settings_of(const Value& root, std::string_view sign = ": ");
inline constexpr std::size_t kMaxSettings = 5'000;

// Gives settings whose value is null the program's own word (`unsaid`), where the list has one: for programs that take
// null as if the option were not stated.
void fill_nulls(std::vector<Setting>& settings, const OptionList& list);

// An option of a program: the value of the file, or the default.
struct Option {
  std::string name;
  const Setting* setting = nullptr;  // nullptr: the file does not state the option
  Value value;                       // null: none

  bool is_none() const;  // true for no value, and for words that programs write for no value: null, None, ""
};

// Reads options of a program whose list has the program's own defaults (`unsaid`), into a draft. Values that the
// program does not accept are Error(input) at their place: a word of a template or an unresolved variable never becomes
// a default.
class OptionReader : public OptionTable {
 public:
  // `program`: for reasons, "torchtitan"; `prefix`: the draft's prefix for the program's names, if the draft holds
  // settings of several programs.
  OptionReader(ImportDraft& draft, const OptionList& list, std::string program, std::string prefix = "");
  OptionReader(ImportDraft& draft, std::string program);  // a program without a list

  // Replaces defaults of the list; `defaults`: a mapping, in sections or with dotted names.
  void replace_defaults(const Value& defaults);
  // Names the program around this one, whose settings are read: options that have to agree with them are refused if
  // they do not.
  void stand_within(std::string program) { around_ = std::move(program); }

  const std::string& prefix() const { return prefix_; }
  // Returns an option by its name. If the list has older names for the option, the first name that the file states
  // counts.
  Option option(std::string_view name);

  // Return the value of an option of the list, in the list's range.
  std::int64_t count(std::string_view name) { return integer(option(name), entry(name)); }
  bool flag(std::string_view name) { return flag(option(name)); }
  // Judges all options of a part that a file states.
  void judge_part(std::string_view part, OptionVerdict verdict, const std::string& reason);
  void leave_part(std::string_view part, const std::string& reason) { judge_part(part, OptionVerdict::leave, reason); }

  std::int64_t integer(const Option& option, std::int64_t minimum, std::int64_t maximum) const;
  std::int64_t integer(const Option& option, const OptionEntry& entry) const;
  double number(const Option& option, double minimum, double maximum) const;
  bool flag(const Option& option) const;
  std::string word(const Option& option) const;                                         // any scalar
  std::string word(const Option& option, const std::vector<std::string>& words) const;  // one of `words`

  // Returns the value of the draft's scenario under this key so far, "" if there is none.
  std::string said(std::string_view key) { return word_under(draft(), key); }

  // Sets a key of the scenario to a value that follows from the option: taken, or assumed as the program's default.
  void put(const Option& option, std::string_view key, Value value, const std::string& reason = {});
  void put(const Option& option, std::string_view key, std::string_view scalar, const std::string& reason = {});
  // Does the same, unless the program around this one has set the key: an option that states another value is refused.
  void put_agreeing(const Option& option, std::string_view key, const std::string& word,
                    const std::string& reason = {});
  void use(const Option& option, const std::string& reason);
  void leave(const Option& option, const std::string& reason);
  void doubt(const Option& option, const std::string& reason);
  [[noreturn]] void fail(const Option& option, const std::string& expected, const std::string& hint = {}) const;

 private:
  std::optional<OptionValue> value_of(const OptionEntry& entry) override;
  bool states(const OptionEntry& entry) override;
  void give(const OptionEntry& entry, const OptionValue& value, std::string_view key,
            const OptionMeaning& meaning) override;
  Option option_of(const OptionEntry& entry);
  void require_known(const Option& option) const;  // Error(input) for a value that depends on missing names

  std::vector<Setting> defaults_;
  std::string program_;
  std::string prefix_;
  std::string around_;
};

// Returns the list of a word with commas, without blanks around its parts.
Value words_at_commas(const Value& word);
// Sets a field of a mapping; `mapping` may be null.
void set_field(Value& mapping, std::string_view key, Value value);
// Returns the framework, a name or a mapping of a framework file's keys, with this habit of a group in place of its
// own.
Value with_habit(Value framework, const std::string& group, const std::string& habit, const Value& value);
Value with_habits(Value framework, const Value& groups);  // with all habits of a mapping of groups

}  // namespace mirfak
