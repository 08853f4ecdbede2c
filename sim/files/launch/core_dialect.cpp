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

}  // namespace

CoreDialect::CoreDialect(const std::filesystem::path& hardware, std::string_view name)
    : document_(Document::from_file(hardware / "launch" / fmt::format("{}.yaml", name))) {}

const Value& CoreDialect::part(std::string_view section, std::string_view key) const {
  static const Value kNone;
  const Value* found = document_.root().find(section);
  const Value* inner = found == nullptr ? nullptr : found->find(key);
  return inner == nullptr ? kNone : *inner;
}

CoreField CoreDialect::field_of(const LaunchOption& option, const OptionList& list) const {
  const std::string name = option.name.substr(2);
  for (const char* section : {"written", "dialect"}) {
    for (const Value::Field& rule : part(section, "options").fields) {
      const auto value = by_rule(rule.value, name, option);
      if (value && list.has(rule.key)) return {rule.key, *value};
    }
  }
  std::string field = name;
  std::replace(field.begin(), field.end(), '-', '_');
  std::string value = in_flow_style(option.words);
  if (takes_list(name) && option.words.size() == 1) value = "[" + value + "]";
  for (const Value& section : part("written", "sections").items) {
    const std::string path = section.scalar + field;
    if (list.has(path)) return {path, value};
  }
  fail_internal(fmt::format("{}: no field for the option {}", list.title(), option.name));
}

std::vector<CoreField> CoreDialect::fields_of(const LaunchOptions& options, const OptionList& list) const {
  std::vector<CoreField> out;
  for (const LaunchOption& option : options.all()) out.push_back(field_of(option, list));
  for (const Value::Field& field : part("written", "unless_said").fields) {
    const bool said = std::any_of(out.begin(), out.end(), [&](const CoreField& one) { return one.path == field.key; });
    if (!said) out.push_back({field.key, field.value.kind == Value::Kind::null ? "null" : field.value.scalar});
  }
  return out;
}

}  // namespace mirfak
