#include "import/megatron_dialect.hpp"

#include "base/text.hpp"
#include "import/megatron_options.hpp"
#include "import/megatron_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace mirfak {

namespace {

bool says_nothing(const Value& value) {
  if (value.kind == Value::Kind::null) return true;
  if (value.kind == Value::Kind::mapping) return value.fields.empty();
  return value.kind == Value::Kind::scalar && !value.quoted && (value.scalar == "null" || value.scalar == "None");
}

bool is_true(const Value& value) {
  return value.kind == Value::Kind::scalar && (value.scalar == "true" || value.scalar == "True");
}

bool is_false(const Value& value) {
  return value.kind == Value::Kind::scalar && (value.scalar == "false" || value.scalar == "False");
}

char sign_of(const Value& part) {
  if (part.scalar == "embedding") return 'E';
  if (part.scalar == "decoder" || part.scalar == "transformer") return 't';
  if (part.scalar == "mtp") return 'm';
  if (part.scalar == "loss") return 'L';
  fail_input(part.where, fmt::format("expected embedding, decoder, mtp or loss, found '{}'", part.scalar));
}

// Returns "Et|tL" for [[embedding, decoder], [decoder, loss]].
Value layout_text(const Value& parts) {
  std::string text;
  for (const Value& part : parts.items) {
    if (!text.empty()) text += '|';
    if (part.kind == Value::Kind::sequence) {
      for (const Value& item : part.items) text += sign_of(item);
    } else {
      text += part.scalar;
    }
  }
  return scalar_value(text, parts.where);
}

Value list_text(const Value& list) {
  std::string text;
  for (const Value& item : list.items) text += (text.empty() ? "" : ",") + item.scalar;
  return scalar_value("[" + text + "]", list.where);
}

constexpr std::string_view kNothing = "nothing:";
constexpr std::string_view kOff = "off:";

bool builds_object(std::string_view name) {
  return name.ends_with("_target_") || name.ends_with("_call_") || name.ends_with("_partial_") ||
         name.ends_with("_args_") || name.ends_with("_name_");
}

bool has_item(const Value& list, const std::string& word) {
  return std::any_of(list.items.begin(), list.items.end(), [&](const Value& item) { return item.scalar == word; });
}

bool says_nothing_here(const Setting& setting, const Value& rules) {
  const auto has = [](const Value* list, const std::string& word) { return list != nullptr && has_item(*list, word); };
  std::string word = setting.value.scalar;
  if (is_false(setting.value)) word = "false";
  return setting.value.kind == Value::Kind::scalar &&
         std::any_of(rules.items.begin(), rules.items.end(), [&](const Value& rule) {
           return has(rule.find("options"), setting.name) && has(rule.find("values"), word);
         });
}

// Sets options aside that mean nothing without another option, such as those of experts in a model that has none.
void set_switched_off_aside(std::vector<Setting>& settings, const Value& rules, const std::vector<std::string>& on) {
  for (const Value& rule : rules.items) {
    const std::string& said_by = rule.find("said_by")->scalar;
    const std::string& begin = rule.find("begin")->scalar;
    const bool said = std::any_of(settings.begin(), settings.end(), [&](const Setting& setting) {
      return setting.name == said_by && !says_nothing(setting.value) && !is_false(setting.value) &&
             setting.value.scalar != "0";
    });
    if (said || std::find(on.begin(), on.end(), said_by) != on.end()) continue;
    for (Setting& setting : settings) {
      if (setting.name.starts_with(begin)) setting.name.insert(0, kOff);
    }
  }
}

// Translates a word into an option of Megatron-LM without a value, or into no option.
void translate_flag(Setting& setting, const Value& flags) {
  const Value* flag = flags.find(setting.value.scalar);
  if (flag == nullptr) return;
  if (flag->scalar == "none") {
    setting.name.insert(0, kNothing);
    return;
  }
  setting.name = megatron_option_name(flag->scalar);
  setting.value.scalar = "true";
}

void translate(Setting& setting, const Value& rule) {
  if (rule.kind == Value::Kind::scalar) {
    setting.name = megatron_option_name(rule.scalar);
    return;
  }
  if (const Value* flags = rule.find("flags")) return translate_flag(setting, *flags);
  const Value* values = rule.find("values");
  const Value* value = values == nullptr ? nullptr : values->find(setting.value.scalar);
  if (values != nullptr && value == nullptr) return;
  if (value != nullptr) setting.value.scalar = value->scalar;
  setting.name = megatron_option_name(rule.find("to")->scalar);
  const Value* negated = rule.find("negated");
  if (negated == nullptr) return;
  const bool yes = is_true(setting.value);
  if (!yes && !is_false(setting.value)) fail_input(setting.value.where, "expected true or false");
  setting.value.scalar = yes ? "false" : "true";
}

void translate_lists(Setting& setting) {
  if (setting.value.kind != Value::Kind::sequence) return;
  if (setting.name == "--pipeline-model-parallel-layout") setting.value = layout_text(setting.value);
  if (setting.name == "--moe-layer-freq") setting.value = list_text(setting.value);
}

bool begins_with(const Setting& setting, const Value& section) { return setting.name.starts_with(section.scalar); }

}  // namespace

std::vector<Setting> in_megatron_words(std::vector<Setting> settings, const ProgramFacts& facts,
                                       const std::vector<std::string>& on) {
  static const Value kNone;
  const Value& dialect = facts.section("dialect");
  const auto part = [&](std::string_view key) -> const Value& {
    const Value* found = dialect.find(key);
    return found == nullptr ? kNone : *found;
  };
  const Value& sections = part("sections");
  const Value& last = part("last");
  std::stable_partition(settings.begin(), settings.end(), [&](const Setting& setting) {
    return std::none_of(last.items.begin(), last.items.end(),
                        [&](const Value& section) { return begins_with(setting, section); });
  });
  set_switched_off_aside(settings, part("switches"), on);
  for (Setting& setting : settings) {
    if (says_nothing(setting.value) || setting.name.starts_with(kOff)) continue;
    if (says_nothing_here(setting, part("nothing"))) {
      setting.name.insert(0, kNothing);
      continue;
    }
    if (const Value* rule = part("options").find(setting.name)) {
      translate(setting, *rule);
    } else if (has_item(part("same"), setting.name)) {
      setting.name = megatron_option_name(setting.name);
    } else if (!facts.judges(setting.name) && !builds_object(setting.name)) {
      const auto section = std::find_if(sections.items.begin(), sections.items.end(),
                                        [&](const Value& one) { return begins_with(setting, one); });
      if (section == sections.items.end()) continue;
      setting.name = megatron_option_name(setting.name.substr(section->scalar.size()));
    }
    translate_lists(setting);
  }
  return settings;
}

void take_adapter_targets(ImportDraft& draft, const Setting& setting, const Value& known) {
  std::vector<std::string> layers;
  for (const std::string& word : words_of(setting.value)) {
    const Value* layer = known.find(word);
    if (layer == nullptr) return draft.doubt(setting, fmt::format("mirfak knows no linear layer {}", excerpt(word)));
    if (std::find(layers.begin(), layers.end(), layer->scalar) == layers.end()) layers.push_back(layer->scalar);
  }
  draft.take(setting, "training.lora.targets", list_value(layers, setting.where));
}

void leave_python(ImportDraft& draft) {
  for (const Setting* setting : draft.open()) {
    if (builds_object(setting->name)) {
      draft.leave(*setting, "how Python builds an object");
    } else if (setting->name.starts_with(kOff)) {
      draft.leave(*setting, "what it belongs to is not used");
    } else if (says_nothing(setting->value) || setting->name.starts_with(kNothing)) {
      draft.leave(*setting, "says nothing");
    }
  }
}

}  // namespace mirfak
