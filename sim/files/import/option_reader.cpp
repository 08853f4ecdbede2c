#include "import/option_reader.hpp"

#include "base/document_text.hpp"
#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/argument_words.hpp"
#include "import/number_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace mirfak {

namespace {

const OptionList kNoOptions;

void collect(const Value& value, const std::string& name, std::string_view sign, std::vector<Setting>& out) {
  if (value.kind == Value::Kind::mapping && !(value.fields.empty() && !name.empty())) {
    for (const Value::Field& field : value.fields) {
      collect(field.value, name.empty() ? field.key : name + "." + field.key, sign, out);
    }
    return;
  }
  const Location& where = value.key_where.known() ? value.key_where : value.where;
  if (out.size() >= kMaxSettings) fail_input(where, fmt::format("more than {} settings", kMaxSettings));
  out.push_back({name, value, where, excerpt(fmt::format("{}{}{}", name, sign, emit_flow_yaml(value)), 100)});
}

}  // namespace

std::vector<Setting> settings_of(const Value& root, std::string_view sign) {
  std::vector<Setting> out;
  if (root.kind == Value::Kind::null) return out;
  if (root.kind != Value::Kind::mapping) fail_input(root.where, "expected a mapping of options");
  collect(root, "", sign, out);
  return out;
}

void fill_nulls(std::vector<Setting>& settings, const OptionList& list) {
  for (Setting& setting : settings) {
    const OptionEntry* entry = list.find(setting.name);
    if (entry == nullptr || setting.value.kind != Value::Kind::null || entry->unsaid.kind == Value::Kind::null)
      continue;
    const Location where = setting.value.where;
    setting.value = entry->unsaid;
    setting.value.where = setting.value.key_where = where;
  }
}

bool Option::is_none() const {
  if (setting != nullptr && !setting->missing.empty()) return false;
  if (value.kind == Value::Kind::null) return true;
  if (value.kind != Value::Kind::scalar) return false;
  return value.scalar.empty() || (!value.quoted && (value.scalar == "None" || value.scalar == "null"));
}

OptionReader::OptionReader(ImportDraft& draft, std::string program)
    : OptionReader(draft, kNoOptions, std::move(program)) {}

OptionReader::OptionReader(ImportDraft& draft, const OptionList& list, std::string program, std::string prefix)
    : OptionTable(draft, list), program_(std::move(program)), prefix_(std::move(prefix)) {}

void OptionReader::replace_defaults(const Value& defaults) { defaults_ = settings_of(defaults); }

Option OptionReader::option(std::string_view name) {
  const OptionEntry* entry = list().find(name);
  if (entry != nullptr) return option_of(*entry);
  OptionEntry unlisted;
  unlisted.name = name;
  return option_of(unlisted);
}

Option OptionReader::option_of(const OptionEntry& entry) {
  Option out{entry.name, nullptr, entry.unsaid};
  for (const std::string_view name : entry.names()) {
    const Setting* setting = draft().find(prefix_ + std::string(name));
    if (setting != nullptr) return {std::string(name), setting, setting->value};
  }
  for (const Setting& other : defaults_) {
    if (other.name == entry.name) out.value = other.value;
  }
  return out;
}

std::optional<OptionValue> OptionReader::value_of(const OptionEntry& entry) {
  using Form = OptionEntry::Form;
  const Option option = option_of(entry);
  if (option.setting == nullptr && option.value.kind == Value::Kind::null) return std::nullopt;
  if (entry.form == Form::flag) return OptionValue{option.setting, flag(option) ? "true" : "false"};
  if (entry.form == Form::count) return OptionValue{option.setting, std::to_string(integer(option, entry))};
  if (entry.form == Form::number) {
    const auto [least, most] = entry.range.value_or(std::pair(-1e15, 1e15));
    return OptionValue{option.setting, fmt::format("{}", number(option, least, most))};
  }
  const bool none = option.is_none() && !entry.words.empty() && entry.words.front().first.empty();
  if (none) return OptionValue{option.setting, ""};
  const std::string said = word(option);
  const bool known =
      std::any_of(entry.words.begin(), entry.words.end(), [&](const auto& one) { return one.first == said; });
  if (!known && !entry.otherwise && !entry.takes.empty()) word(option, entry.takes);
  return OptionValue{option.setting, said};
}

bool OptionReader::states(const OptionEntry& entry) {
  const Option option = option_of(entry);
  return entry.form == OptionEntry::Form::flag ? flag(option) : !option.is_none();
}

void OptionReader::give(const OptionEntry& entry, const OptionValue& value, std::string_view key,
                        const OptionMeaning& meaning) {
  const Option option = option_of(entry);
  const std::string reason = meaning.verdict == OptionVerdict::take ? meaning.reason : "";
  if (meaning.word.empty() || key != entry.key || !entry.agrees) {
    if (value.setting != nullptr) return OptionTable::give(entry, value, key, meaning);
    if (!meaning.word.empty()) put(option, key, meaning.word, reason);
    return;
  }
  put_agreeing(option, key, meaning.word, reason);
  if (meaning.verdict == OptionVerdict::doubt) doubt(option, meaning.reason);
}

void OptionReader::put_agreeing(const Option& option, std::string_view key, const std::string& word,
                                const std::string& reason) {
  const std::string before = around_.empty() ? "" : said(key);
  if (before.empty()) return put(option, key, word, reason);
  if (option.setting == nullptr) return;
  if (before != word) fail(option, fmt::format("auto, or what {} says ({}: {})", around_, key, before));
  use(option, fmt::format("as {} says", around_));
}

void OptionReader::judge_part(std::string_view part, OptionVerdict verdict, const std::string& reason) {
  for (const OptionEntry& entry : list().entries()) {
    const Setting* setting = entry.part == part ? option_of(entry).setting : nullptr;
    if (setting != nullptr) OptionTable::give(entry, {setting, ""}, "", {"", verdict, reason});
  }
}

void OptionReader::fail(const Option& option, const std::string& expected, const std::string& hint) const {
  if (option.setting == nullptr) {
    fail_internal(fmt::format("the default of {} of {} is {}: expected {}", option.name, program_,
                              described(option.value), expected));
  }
  const Location& where = option.value.where.known() ? option.value.where : option.setting->where;
  require_known(option);
  fail_input(where, fmt::format("{}: expected {}, found {}", option.name, expected, described(option.value)), hint);
}

// Refuses a value that depends on an unset variable, or on the output of a command.
void OptionReader::require_known(const Option& option) const {
  if (option.setting == nullptr || option.setting->missing.empty()) return;
  const std::vector<std::string>& missing = option.setting->missing;
  fail_input(option.setting->where,
             fmt::format("{}: its value is not known: it depends on {}", option.name, fmt::join(missing, ", ")),
             way_to_state(missing));
}

std::int64_t OptionReader::integer(const Option& option, std::int64_t minimum, std::int64_t maximum) const {
  require_known(option);
  const std::string range = fmt::format("a whole number from {} to {}", minimum, maximum);
  if (option.value.kind != Value::Kind::scalar) fail(option, range);
  const std::optional<double> read = number_of(option.value.scalar);
  const bool fits = read && *read == std::floor(*read) && *read >= static_cast<double>(minimum) &&
                    *read <= static_cast<double>(maximum);
  if (!fits) fail(option, range);
  return static_cast<std::int64_t>(*read);
}

double OptionReader::number(const Option& option, double minimum, double maximum) const {
  require_known(option);
  const std::string range = fmt::format("a number from {} to {}", minimum, maximum);
  if (option.value.kind != Value::Kind::scalar) fail(option, range);
  const std::optional<double> read = number_of(option.value.scalar);
  if (!read || *read < minimum || *read > maximum) fail(option, range);
  return *read;
}

std::int64_t OptionReader::integer(const Option& option, const OptionEntry& entry) const {
  const auto [least, most] = entry.range.value_or(std::pair(-1e15, 1e15));
  return integer(option, static_cast<std::int64_t>(least), static_cast<std::int64_t>(most));
}

bool OptionReader::flag(const Option& option) const {
  require_known(option);
  if (option.value.kind == Value::Kind::null) return false;
  const std::string text = option.value.kind == Value::Kind::scalar ? lower_case(option.value.scalar) : "";
  if (text == "true" || text == "yes" || text == "on" || text == "1") return true;
  if (text == "false" || text == "no" || text == "off" || text == "0" || text == "none" || text == "null") return false;
  fail(option, "true or false");
}

std::string OptionReader::word(const Option& option) const {
  require_known(option);
  if (option.value.kind != Value::Kind::scalar) fail(option, "a word");
  return option.value.scalar;
}

std::string OptionReader::word(const Option& option, const std::vector<std::string>& words) const {
  std::string found = word(option);
  if (std::find(words.begin(), words.end(), found) != words.end()) return found;
  fail(option, join_or(words));
}

void OptionReader::put(const Option& option, std::string_view key, Value value, const std::string& reason) {
  if (option.setting != nullptr) return draft().take(*option.setting, key, std::move(value), reason);
  const std::string nothing = fmt::format("{} is not said", option.name);
  const std::string by_default = option.is_none() ? nothing
                                                  : fmt::format("{}'s default: {}: {}", program_, option.name,
                                                                excerpt(emit_flow_yaml(option.value)));
  value.where = value.key_where = {};
  draft().assume(key, std::move(value), reason.empty() ? by_default : by_default + "; " + reason);
}

void OptionReader::put(const Option& option, std::string_view key, std::string_view scalar, const std::string& reason) {
  const Location where = option.setting != nullptr ? option.setting->where : Location{};
  put(option, key, scalar_value(scalar, where), reason);
}

void OptionReader::use(const Option& option, const std::string& reason) {
  if (option.setting != nullptr) draft().use(*option.setting, reason);
}

void OptionReader::leave(const Option& option, const std::string& reason) {
  if (option.setting != nullptr) draft().leave(*option.setting, reason);
}

void OptionReader::doubt(const Option& option, const std::string& reason) {
  if (option.setting != nullptr) draft().doubt(*option.setting, reason);
}

Value words_at_commas(const Value& word) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= word.scalar.size();) {
    const std::size_t comma = std::min(word.scalar.find(',', at), word.scalar.size());
    parts.push_back(trimmed(std::string_view(word.scalar).substr(at, comma - at)));
    at = comma + 1;
  }
  return list_value(parts, word.where);
}

void set_field(Value& mapping, std::string_view key, Value value) {
  mapping.kind = Value::Kind::mapping;
  const auto at = std::find_if(mapping.fields.begin(), mapping.fields.end(),
                               [&](const Value::Field& field) { return field.key == key; });
  if (at != mapping.fields.end()) {
    at->value = std::move(value);
  } else {
    mapping.fields.push_back({std::string(key), std::move(value)});
  }
}

Value with_habit(Value framework, const std::string& group, const std::string& habit, const Value& value) {
  if (framework.kind != Value::Kind::mapping) {
    Value named;
    set_field(named, "like", std::move(framework));
    framework = std::move(named);
  }
  const Value* said = framework.find(group);
  Value habits = said == nullptr ? Value{} : *said;
  set_field(habits, habit, value);
  set_field(framework, group, std::move(habits));
  return framework;
}

Value with_habits(Value framework, const Value& groups) {
  for (const Value::Field& group : groups.fields) {
    for (const Value::Field& habit : group.value.fields) {
      framework = with_habit(std::move(framework), group.key, habit.key, habit.value);
    }
  }
  return framework;
}

}  // namespace mirfak
