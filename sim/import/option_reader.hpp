#pragma once

#include "import/import_draft.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// The leaves of a mapping as settings: names joined by dots ("training.seq_len"), lists and empty mappings as values.
// `sign`: what stands between name and value in the file, ": " of YAML or " = " of TOML. Error(input) for more than
// `kMaxSettings` of them.
std::vector<Setting> settings_of(const Value& root, std::string_view sign = ": ");
inline constexpr std::size_t kMaxSettings = 5'000;

// An option of a program: what the file says, or the default.
struct Option {
  std::string name;
  const Setting* setting = nullptr;  // nullptr: nobody says it
  Value value;                       // null: none

  bool is_none() const;  // no value, or one that programs write for none: null, None, ""
};

// Reads options of a program by name, with its defaults, into a draft. Values that are not what the program takes are
// Error(input) at their place: a word of a template or a variable that nobody resolved never becomes a default.
class OptionReader {
 public:
  // `defaults`: a mapping, in sections or with dotted names; `program`: for reasons, "torchtitan"; `prefix`: what the
  // draft has in front of the program's names, where it holds settings of several.
  OptionReader(ImportDraft& draft, const Value& defaults, std::string program, std::string prefix = "");

  ImportDraft& draft() { return draft_; }
  const std::string& program() const { return program_; }
  const std::string& prefix() const { return prefix_; }
  Option option(std::string_view name);
  // The first of these that the file says, else the default of the first.
  Option option_of(const std::vector<std::string_view>& names);

  std::int64_t integer(const Option& option, std::int64_t minimum, std::int64_t maximum) const;
  double number(const Option& option, double minimum, double maximum) const;
  bool flag(const Option& option) const;
  std::string word(const Option& option) const;                                              // a scalar
  std::string word(const Option& option, const std::vector<std::string_view>& words) const;  // one of them

  // What the draft's scenario says under this key so far, "" where nothing.
  std::string said(std::string_view key) const;

  // A key of the scenario follows from the option: taken, or assumed as the program's default.
  void put(const Option& option, std::string_view key, Value value, const std::string& reason = {});
  void put(const Option& option, std::string_view key, std::string_view scalar, const std::string& reason = {});
  void use(const Option& option, const std::string& reason);
  void leave(const Option& option, const std::string& reason);
  void doubt(const Option& option, const std::string& reason);
  [[noreturn]] void fail(const Option& option, const std::string& expected, const std::string& hint = {}) const;

 private:
  void require_known(const Option& option) const;  // Error(input) for a value of which names are missing

  ImportDraft& draft_;
  std::vector<Setting> defaults_;
  std::string program_;
  std::string prefix_;
};

// A list of these numbers as a value that stands at `where`.
Value list_value(const std::vector<std::int64_t>& numbers, const Location& where);
// The same of words.
Value list_value(const std::vector<std::string>& words, const Location& where);
// Puts a field of a mapping; `mapping` may be null.
void set_field(Value& mapping, std::string_view key, Value value);

}  // namespace mirfak
