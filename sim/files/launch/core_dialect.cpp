#include "launch/core_dialect.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace mirfak {

namespace {

std::string in_flow_style(const std::vector<std::string>& words) {
  if (words.empty()) return "true";
  return words.size() == 1 ? words.front() : fmt::format("[{}]", fmt::join(words, ","));
}

// True for options that take a list even for one word.
bool takes_list(std::string_view option) { return option.ends_with("-modules"); }

// Returns the field's value for an option by a rule of the dialect; nullopt if the rule is for another option.
std::optional<std::string> by_rule(const Value& rule, std::string_view name, const LaunchOption& option) {
  const std::string value = in_flow_style(option.words);
  if (rule.kind == Value::Kind::scalar) return rule.scalar == name ? std::optional(value) : std::nullopt;
  if (const Value* flags = rule.find("flags")) {
    for (const Value::Field& flag : flags->fields) {
      if (flag.value.scalar == name) return flag.key;
    }
    return std::nullopt;
  }
  if (rule.find("to")->scalar != name) return std::nullopt;
  const Value* values = rule.find("values");
  if (values == nullptr) return rule.find("negated") == nullptr ? value : "false";
  for (const Value::Field& word : values->fields) {
    if (word.value.scalar == value) return word.key;
  }
  return std::nullopt;
}

CoreField field_of(const LaunchOption& option, const OptionList& list, const Value& facts) {
  const std::string name = option.name.substr(2);
  const Value& written = *facts.find("written");
  for (const Value* section : {&written, facts.find("dialect")}) {
    const Value* rules = section->find("options");
    for (const Value::Field& rule : rules == nullptr ? std::vector<Value::Field>{} : rules->fields) {
      const auto value = by_rule(rule.value, name, option);
      if (value && list.has(rule.key)) return {rule.key, *value};
    }
  }
  std::string field = name;
  std::replace(field.begin(), field.end(), '-', '_');
  std::string value = in_flow_style(option.words);
  if (takes_list(name) && option.words.size() == 1) value = "[" + value + "]";
  for (const Value& section : written.find("sections")->items) {
    const std::string path = section.scalar + field;
    if (list.has(path)) return {path, value};
  }
  fail_internal(fmt::format("{}: no field for the option {}", list.title(), option.name));
}

}  // namespace

std::vector<CoreField> core_fields(const LaunchOptions& options, const OptionList& list, const Document& facts) {
  std::vector<CoreField> out;
  for (const LaunchOption& option : options.all()) out.push_back(field_of(option, list, facts.root()));
  for (const Value::Field& field : facts.root().find("written")->find("unless_said")->fields) {
    const bool said = std::any_of(out.begin(), out.end(), [&](const CoreField& one) { return one.path == field.key; });
    if (!said) out.push_back({field.key, field.value.kind == Value::Kind::null ? "null" : field.value.scalar});
  }
  return out;
}

}  // namespace mirfak
