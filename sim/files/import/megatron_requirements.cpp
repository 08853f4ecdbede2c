// Refuses combinations that Megatron-LM's arguments.py, and the configurations that it makes, refuse: rules of
// hw_profiles/launch/megatron.yaml, each an option that needs other options, or excludes them.

#include "import/megatron_reading.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

using Requirement = MegatronKnowledge::Requirement;

// Returns a stated setting whose value does not revoke it. Reads without MegatronOptions, for which an unknown value
// would be one that the layout depends on.
const Setting* stated(MegatronReading& reading, const std::string& name) {
  const Setting* setting = reading.draft.find("--" + name);
  if (setting == nullptr || !setting->missing.empty()) return nullptr;
  const std::string word = word_of(setting->value);
  return word == "false" || word == "False" || word == "None" ? nullptr : setting;
}

// Returns the setting that a rule is about: with one of its words, or above its number.
const Setting* about(MegatronReading& reading, const Requirement& rule) {
  const Setting* setting = stated(reading, rule.option);
  if (setting == nullptr) return nullptr;
  const std::string word = word_of(setting->value);
  if (!rule.words.empty() && std::find(rule.words.begin(), rule.words.end(), word) == rule.words.end()) return nullptr;
  if (rule.above && reading.options.number({rule.option}).value_or(0) <= *rule.above) return nullptr;
  return setting;
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

void check(MegatronReading& reading, const Requirement& rule) {
  const Setting* setting = about(reading, rule);
  if (setting == nullptr) return;
  if (!rule.beside.empty() && !any_said(reading, rule.beside)) {
    obstruct(reading, *setting, fmt::format("the program takes it only beside {}", either(rule.beside)));
  }
  const bool none = std::none_of(rule.not_beside.begin(), rule.not_beside.end(),
                                 [&](const std::string& name) { return stated(reading, name) != nullptr; });
  if (!none) {
    obstruct(reading, *setting, fmt::format("the program does not take it beside {}", either(rule.not_beside)));
  }
}

// Checks that sequences are not longer than --max-position-embeddings; the rule holds for positions of any kind.
void check_positions(MegatronReading& reading) {
  const Setting* setting = reading.draft.find("--max-position-embeddings");
  if (setting == nullptr || !setting->missing.empty()) return;
  const auto positions = reading.options.count({"max-position-embeddings"});
  if (!positions || reading.sequence <= *positions) return;
  obstruct(reading, *setting, fmt::format("the program takes no sequences of {} tokens beside it", reading.sequence));
}

}  // namespace

void check_megatron_requirements(MegatronReading& reading) {
  if (!reading.run.checked) return;
  for (const Requirement& rule : reading.knowledge.requirements) check(reading, rule);
  check_positions(reading);
}

}  // namespace mirfak
