#include "import/option_reader.hpp"

#include "base/document_text.hpp"
#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/option_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace mirfak {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// Parses numbers as Python and YAML write them: 1_000, 1e6, +3.
std::optional<double> number_of_text(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = text[i] == '_' && i > 0 && i + 1 < text.size();
    if (!between) digits += text[i];
  }
  if (digits.starts_with('+')) digits.erase(0, 1);
  double out = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(out)) return std::nullopt;
  return out;
}

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

bool Option::is_none() const {
  if (setting != nullptr && !setting->missing.empty()) return false;
  if (value.kind == Value::Kind::null) return true;
  if (value.kind != Value::Kind::scalar) return false;
  return value.scalar.empty() || (!value.quoted && (value.scalar == "None" || value.scalar == "null"));
}

OptionReader::OptionReader(ImportDraft& draft, const Value& defaults, std::string program, std::string prefix)
    : draft_(draft), defaults_(settings_of(defaults)), program_(std::move(program)), prefix_(std::move(prefix)) {}

Option OptionReader::option(std::string_view name) {
  Option out;
  out.name = name;
  out.setting = draft_.find(prefix_.empty() ? std::string(name) : prefix_ + out.name);
  if (out.setting != nullptr) {
    out.value = out.setting->value;
    return out;
  }
  const auto at =
      std::find_if(defaults_.begin(), defaults_.end(), [&](const Setting& entry) { return entry.name == name; });
  if (at != defaults_.end()) out.value = at->value;
  return out;
}

Option OptionReader::option_of(const std::vector<std::string_view>& names) {
  for (const std::string_view name : names) {
    Option found = option(name);
    if (found.setting != nullptr) return found;
  }
  return option(names.front());
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
             missing.front().starts_with("$(")
                 ? "the output of commands is not known: write the value in place of the command"
                 : fmt::format("say --env {}=VALUE", missing.front()));
}

std::int64_t OptionReader::integer(const Option& option, std::int64_t minimum, std::int64_t maximum) const {
  require_known(option);
  const std::string range = fmt::format("a whole number from {} to {}", minimum, maximum);
  if (option.value.kind != Value::Kind::scalar) fail(option, range);
  const std::optional<double> read = number_of_text(option.value.scalar);
  const bool fits = read && *read == std::floor(*read) && *read >= static_cast<double>(minimum) &&
                    *read <= static_cast<double>(maximum);
  if (!fits) fail(option, range);
  return static_cast<std::int64_t>(*read);
}

double OptionReader::number(const Option& option, double minimum, double maximum) const {
  require_known(option);
  const std::string range = fmt::format("a number from {} to {}", minimum, maximum);
  if (option.value.kind != Value::Kind::scalar) fail(option, range);
  const std::optional<double> read = number_of_text(option.value.scalar);
  if (!read || *read < minimum || *read > maximum) fail(option, range);
  return *read;
}

bool OptionReader::flag(const Option& option) const {
  require_known(option);
  if (option.value.kind == Value::Kind::null) return false;
  const std::string text = option.value.kind == Value::Kind::scalar ? lower(option.value.scalar) : "";
  if (text == "true" || text == "yes" || text == "on" || text == "1") return true;
  if (text == "false" || text == "no" || text == "off" || text == "0" || text == "none" || text == "null") return false;
  fail(option, "true or false");
}

std::string OptionReader::word(const Option& option) const {
  require_known(option);
  if (option.value.kind != Value::Kind::scalar) fail(option, "a word");
  return option.value.scalar;
}

std::string OptionReader::word(const Option& option, const std::vector<std::string_view>& words) const {
  std::string found = word(option);
  if (std::find(words.begin(), words.end(), found) != words.end()) return found;
  const std::vector<std::string> all(words.begin(), words.end());
  fail(option, join_or(all));
}

std::string OptionReader::said(std::string_view key) const { return word_under(draft_, key); }

void OptionReader::put(const Option& option, std::string_view key, Value value, const std::string& reason) {
  if (option.setting != nullptr) return draft_.take(*option.setting, key, std::move(value), reason);
  const std::string nothing = fmt::format("{} is not said", option.name);
  const std::string by_default = option.is_none() ? nothing
                                                  : fmt::format("{}'s default: {}: {}", program_, option.name,
                                                                excerpt(emit_flow_yaml(option.value)));
  value.where = value.key_where = {};
  draft_.assume(key, std::move(value), reason.empty() ? by_default : by_default + "; " + reason);
}

void OptionReader::put(const Option& option, std::string_view key, std::string_view scalar, const std::string& reason) {
  const Location where = option.setting != nullptr ? option.setting->where : Location{};
  put(option, key, scalar_value(scalar, where), reason);
}

void OptionReader::use(const Option& option, const std::string& reason) {
  if (option.setting != nullptr) draft_.use(*option.setting, reason);
}

void OptionReader::leave(const Option& option, const std::string& reason) {
  if (option.setting != nullptr) draft_.leave(*option.setting, reason);
}

void OptionReader::doubt(const Option& option, const std::string& reason) {
  if (option.setting != nullptr) draft_.doubt(*option.setting, reason);
}

Value list_value(const std::vector<std::int64_t>& numbers, const Location& where) {
  Value out;
  out.kind = Value::Kind::sequence;
  out.where = out.key_where = where;
  for (const std::int64_t number : numbers) out.items.push_back(scalar_value(std::to_string(number), where));
  return out;
}

Value list_value(const std::vector<std::string>& words, const Location& where) {
  Value out;
  out.kind = Value::Kind::sequence;
  out.where = out.key_where = where;
  for (const std::string& word : words) out.items.push_back(scalar_value(word, where));
  return out;
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

}  // namespace mirfak
