// Refuses combinations that Megatron-LM's arguments.py, and the configurations that it makes, refuse: rules of
// hw_profiles/launch/megatron.yaml, each an option that needs other options, or excludes them.

#include "import/megatron_reading.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

std::vector<std::string> list_under(const Value& rule, std::string_view key) {
  const Value* found = rule.find(key);
  return found == nullptr ? std::vector<std::string>{} : words_of(*found);
}

// Returns a stated setting whose value does not revoke it. Reads without MegatronOptions, for which an unknown value
// would be one that the layout depends on.
const Setting* stated(MegatronReading& reading, const std::string& name) {
  const Setting* setting = reading.draft.find("--" + name);
  if (setting == nullptr || !setting->missing.empty()) return nullptr;
  const std::string word = word_of(setting->value);
  return word == "false" || word == "False" || word == "None" ? nullptr : setting;
}

// Returns the setting that a rule is about: with one of its words, or above its number.
const Setting* about(MegatronReading& reading, const Value& rule) {
  const std::string option = text_under(rule, "option");
  const Setting* setting = stated(reading, option);
  if (setting == nullptr) return nullptr;
  const std::vector<std::string> words = list_under(rule, "words");
  const bool counts = words.empty() || std::find(words.begin(), words.end(), word_of(setting->value)) != words.end();
  const std::string above = text_under(rule, "above");
  const bool exceeds = above.empty() || reading.options.number({option}).value_or(0) > std::stod(above);
  return counts && exceeds ? setting : nullptr;
}

// True if one of the options is stated, also with an unknown value.
bool any_said(MegatronReading& reading, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const Setting* setting = reading.draft.find("--" + name);
    return setting != nullptr && (!setting->missing.empty() || stated(reading, name) != nullptr);
  });
}

std::string either(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += fmt::format("{}--{}", i == 0 ? "" : i + 1 == names.size() ? " or " : ", ", names[i]);
  }
  return out;
}

void obstruct(MegatronReading& reading, const Setting& setting, const std::string& why) {
  reading.draft.obstruct(setting.where, fmt::format("{}: {}", setting.text, why));
}

void check(MegatronReading& reading, const Value& rule) {
  const Setting* setting = about(reading, rule);
  if (setting == nullptr) return;
  const std::vector<std::string> beside = list_under(rule, "beside");
  const std::vector<std::string> not_beside = list_under(rule, "not_beside");
  if (!beside.empty() && !any_said(reading, beside)) {
    obstruct(reading, *setting, fmt::format("the program takes it only together with {}", either(beside)));
  }
  const bool none = std::none_of(not_beside.begin(), not_beside.end(),
                                 [&](const std::string& name) { return stated(reading, name) != nullptr; });
  if (!none) {
    obstruct(reading, *setting, fmt::format("the program does not take it together with {}", either(not_beside)));
  }
}

// Checks that sequences are not longer than --max-position-embeddings; the rule holds for positions of any kind.
void check_positions(MegatronReading& reading) {
  const Setting* setting = reading.draft.find("--max-position-embeddings");
  if (setting == nullptr || !setting->missing.empty()) return;
  const auto positions = reading.options.count({"max-position-embeddings"});
  if (!positions || reading.sequence <= *positions) return;
  obstruct(reading, *setting, fmt::format("the program takes no sequences of {} tokens with it", reading.sequence));
}

}  // namespace

void check_megatron_requirements(MegatronReading& reading) {
  if (reading.run.requirements != nullptr) {
    for (const Value& rule : reading.run.requirements->items) check(reading, rule);
  }
  if (!reading.run.checked) return;
  for (const Value& rule : reading.facts.section("requirements").items) check(reading, rule);
  check_positions(reading);
}

}  // namespace mirfak
