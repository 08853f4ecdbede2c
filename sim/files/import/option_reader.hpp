#pragma once

#include "import/import_draft.hpp"

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

// An option of a program: the value of the file, or the default.
struct Option {
  std::string name;
  const Setting* setting = nullptr;  // nullptr: the file does not state the option
  Value value;                       // null: none

  bool is_none() const;  // true for no value, and for words that programs write for no value: null, None, ""
};

// Reads options of a program by name, with its defaults, into a draft. Values that the program does not accept are
// Error(input) at their place: a word of a template or an unresolved variable never becomes a default.
class OptionReader {
 public:
  // `defaults`: a mapping, in sections or with dotted names; `program`: for reasons, "torchtitan"; `prefix`: the
  // draft's prefix for the program's names, if the draft holds settings of several programs.
  OptionReader(ImportDraft& draft, const Value& defaults, std::string program, std::string prefix = "");

  ImportDraft& draft() { return draft_; }
  const std::string& program() const { return program_; }
  const std::string& prefix() const { return prefix_; }
  Option option(std::string_view name);
  // Returns the first of these options that the file states, else the default of the first name.
  Option option_of(const std::vector<std::string_view>& names);

  std::int64_t integer(const Option& option, std::int64_t minimum, std::int64_t maximum) const;
  double number(const Option& option, double minimum, double maximum) const;
  bool flag(const Option& option) const;
  std::string word(const Option& option) const;                                              // any scalar
  std::string word(const Option& option, const std::vector<std::string_view>& words) const;  // one of `words`

  // Returns the value of the draft's scenario under this key so far, "" if there is none.
  std::string said(std::string_view key) const;

  // Sets a key of the scenario to a value that follows from the option: taken, or assumed as the program's default.
  void put(const Option& option, std::string_view key, Value value, const std::string& reason = {});
  void put(const Option& option, std::string_view key, std::string_view scalar, const std::string& reason = {});
  void use(const Option& option, const std::string& reason);
  void leave(const Option& option, const std::string& reason);
  void doubt(const Option& option, const std::string& reason);
  [[noreturn]] void fail(const Option& option, const std::string& expected, const std::string& hint = {}) const;

 private:
  void require_known(const Option& option) const;  // Error(input) for a value that depends on missing names

  ImportDraft& draft_;
  std::vector<Setting> defaults_;
  std::string program_;
  std::string prefix_;
};

// Returns a list of these numbers as a value at `where`.
Value list_value(const std::vector<std::int64_t>& numbers, const Location& where);
// Returns a list of these words as a value at `where`.
Value list_value(const std::vector<std::string>& words, const Location& where);
// Sets a field of a mapping; `mapping` may be null.
void set_field(Value& mapping, std::string_view key, Value value);

}  // namespace mirfak
