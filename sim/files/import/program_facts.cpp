#include "import/program_facts.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/hub_cache.hpp"
#include "import/number_words.hpp"
#include "import/option_reader.hpp"
#include "model/model_loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace mirfak {

namespace {

// True if `name` is the pattern, or begins with the part of the pattern before its star.
bool matches(const std::string& pattern, const std::string& name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
}

bool matches_any(const Value* patterns, const std::string& name) {
  return patterns != nullptr && std::any_of(patterns->items.begin(), patterns->items.end(),
                                            [&](const Value& pattern) { return matches(pattern.scalar, name); });
}

// True if the value is one of a rule's harmless values; null stands for none.
bool is_among(const Value* harmless, const Value& value) {
  if (harmless == nullptr) return false;
  const bool nothing = value.kind == Value::Kind::null ||
                       (value.kind != Value::Kind::scalar && value.items.empty() && value.fields.empty());
  return std::any_of(harmless->items.begin(), harmless->items.end(), [&](const Value& one) {
    if (one.kind == Value::Kind::null) return nothing;
    return value.kind == Value::Kind::scalar && same_but_case(one.scalar, value.scalar);
  });
}

// Returns the names of a program's options as its sources have them: a list in names/, the written names in options/.
std::vector<std::string> option_names(const std::filesystem::path& hardware, const std::string& name) {
  std::vector<std::string> out;
  const auto exists = [&](const std::string& file) { return std::filesystem::exists(hardware / "launch" / file); };
  if (exists(fmt::format("names/{}.yaml", name))) {
    for (const Value& option : launch_facts(hardware, "names/" + name).root().find("names")->items) {
      out.push_back(option.scalar);
    }
  }
  if (exists(fmt::format("options/{}.yaml", name))) {
    for (const OptionEntry& option : option_list(hardware, name).entries()) out.push_back(option.name);
  }
  return out;
}

// Makes known the options that rules name in full.
void know_options(ImportDraft& draft, std::string_view prefix, const Value& rules) {
  for (const Value& rule : rules.items) {
    const Value* options = rule.find("options");
    if (options == nullptr) continue;
    for (const Value& option : options->items) {
      if (!option.scalar.ends_with('*')) draft.know(std::string(prefix) + option.scalar);
    }
  }
}

// Returns the value under a key; null: there is none.
const Value& part_of(const Value& mapping, std::string_view key) {
  static const Value kNone;
  const Value* found = mapping.find(key);
  return found == nullptr ? kNone : *found;
}

const Value* rule_of(const Value& rules, const std::string& name) {
  const auto at = std::find_if(rules.items.begin(), rules.items.end(),
                               [&](const Value& rule) { return matches_any(rule.find("options"), name); });
  return at == rules.items.end() ? nullptr : &*at;
}

// Leaves a setting whose value is one of the rule's harmless ones.
bool leave_harmless(ImportDraft& draft, const Setting& setting, const Value& rule) {
  if (!is_among(rule.find("unless"), setting.value)) return false;
  const std::string otherwise = text_under(rule, "otherwise");
  draft.leave(setting, otherwise.empty() ? "not used" : otherwise);
  return true;
}

// Returns sections that are switched off by themselves: "fp16." of "fp16.enabled: false".
std::set<std::string> switched_off(const std::vector<const Setting*>& settings) {
  std::set<std::string> out;
  for (const Setting* setting : settings) {
    if (setting->value.kind != Value::Kind::scalar ||
        (setting->value.scalar != "false" && setting->value.scalar != "False")) {
      continue;
    }
    for (const std::string_view switch_name : {"shared_parameters.enabled", "enabled", "enable"}) {
      if (!setting->name.ends_with("." + std::string(switch_name))) continue;
      out.insert(setting->name.substr(0, setting->name.size() - switch_name.size()));
      break;
    }
  }
  return out;
}

bool is_off(const std::string& name, const std::set<std::string>& off) {
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    if (off.contains(name.substr(0, dot + 1))) return true;
  }
  return false;
}

}  // namespace

std::string text_under(const Value& mapping, std::string_view key) {
  const Value* found = mapping.find(key);
  return found == nullptr ? std::string() : found->scalar;
}

std::string text_under_longest(const Value& mapping, const std::function<bool(const std::string& key)>& fits) {
  const Value::Field* longest = nullptr;
  for (const Value::Field& field : mapping.fields) {
    if (fits(field.key) && (longest == nullptr || field.key.size() >= longest->key.size())) longest = &field;
  }
  return longest == nullptr ? "" : longest->value.scalar;
}

ProgramFacts::ProgramFacts(const ScenarioSources& sources, std::string_view name)
    : hardware_(sources.folders.hardware), document_(launch_facts(hardware_, name)) {
  names_ = option_names(sources.folders.hardware, std::string(name));
  for (const Value& other : section("names_of").items) {
    for (std::string& option : option_names(sources.folders.hardware, other.scalar))
      names_.push_back(std::move(option));
  }
}

const Value& ProgramFacts::section(std::string_view key) const { return part_of(document_.root(), key); }

void ProgramFacts::rename(std::vector<Setting>& settings) const {
  const Value& names = section("other_names");
  for (Setting& setting : settings) {
    for (const Value::Field& field : names.fields) {
      if (!matches(field.key, setting.name)) continue;
      std::string name = field.value.scalar;
      if (name.ends_with('*')) name.replace(name.size() - 1, 1, setting.name.substr(field.key.size() - 1));
      setting.name = name;
      break;
    }
  }
}

bool ProgramFacts::judges(const std::string& name) const {
  return rule_of(section("without_effect"), name) != nullptr || rule_of(section("not_predicted"), name) != nullptr ||
         rule_of(section("held_back"), name) != nullptr;
}

void ProgramFacts::refuse_unknown(ImportDraft& draft, std::string_view program) const {
  for (const Setting* setting : draft.open()) {
    const std::string& stated = setting->name;
    if (stated.empty() || stated.starts_with('$') || stated.starts_with('#') || judges(stated)) continue;
    const bool known = std::any_of(names_.begin(), names_.end(), [&](const std::string& name) {
      return stated == name || stated.starts_with(name + ".") || name.starts_with(stated + ".");
    });
    if (known) continue;
    const std::string meant = did_you_mean(stated, names_, "");
    const std::string reason = fmt::format("{}: {} has no such key, and refuses it", excerpt(stated), program);
    draft.suggest(*setting, "no key of the program");
    draft.obstruct(setting->where, meant.empty() ? reason : fmt::format("{}: {}", reason, meant));
  }
}

void ProgramFacts::judge_rest(ImportDraft& draft, std::string_view prefix) const {
  for (const std::string& name : names_) draft.know(std::string(prefix) + name);
  const Value* dialect = section("dialect").find("options");
  for (const Value::Field& option : dialect == nullptr ? std::vector<Value::Field>{} : dialect->fields) {
    draft.know(std::string(prefix) + option.key);
  }
  judge_section(draft, prefix, document_.root());
  for (const Value& other : section("rules_of").items) {
    const Value& rules = launch_facts(hardware_, other.scalar).root();
    judge_options(draft, prefix, part_of(rules, "without_effect"), part_of(rules, "not_predicted"));
  }
}

void judge_options(ImportDraft& draft, std::string_view prefix, const Value& without_effect,
                   const Value& not_predicted) {
  know_options(draft, prefix, without_effect);
  know_options(draft, prefix, not_predicted);
  const std::vector<const Setting*> all = draft.open();
  const std::set<std::string> off = switched_off(all);
  for (const Setting* setting : all) {
    if (!setting->name.starts_with(prefix)) continue;
    const std::string name = setting->name.substr(prefix.size());
    if (const Value* rule = rule_of(without_effect, name)) {
      draft.leave(*setting, text_under(*rule, "reason"));
    } else if (const Value* other = rule_of(not_predicted, name)) {
      if (leave_harmless(draft, *setting, *other)) continue;
      if (is_off(setting->name, off)) {
        draft.leave(*setting, "what it belongs to is switched off");
      } else {
        draft.doubt(*setting, text_under(*other, "reason"));
      }
    }
  }
}

void hold_back(ImportDraft& draft, std::string_view prefix, const Value& rules) {
  know_options(draft, prefix, rules);
  std::set<std::string> said;  // each reason is reported once
  for (const Setting* setting : draft.open()) {
    if (!setting->name.starts_with(prefix)) continue;
    const Value* rule = rule_of(rules, setting->name.substr(prefix.size()));
    if (rule == nullptr) continue;
    if (leave_harmless(draft, *setting, *rule)) continue;
    const std::string reason = text_under(*rule, "reason");
    draft.doubt(*setting, reason);
    if (!said.insert(reason).second) continue;
    const std::string name = prefix == "--" ? setting->name : setting->name.substr(prefix.size());
    draft.obstruct(setting->where, fmt::format("{}: {}", name, reason));
  }
}

void judge_section(ImportDraft& draft, std::string_view prefix, const Value& section) {
  hold_back(draft, prefix, part_of(section, "held_back"));
  judge_options(draft, prefix, part_of(section, "without_effect"), part_of(section, "not_predicted"));
}

KnownModel known_model(const Value& entry, const Value& common, std::string_view name, const ScenarioSources& sources) {
  KnownModel out;
  const Value* like = entry.find("like");
  if (like != nullptr) {
    const bool changed = std::any_of(entry.fields.begin(), entry.fields.end(), [](const Value::Field& field) {
      return field.key != "like" && field.key != "note";
    });
    if (!changed) {
      out.model = scalar_value(like->scalar, {});
      out.note = text_under(entry, "note");
      return out;
    }
    out.model = Document::from_file(sources.folders.models / (like->scalar + ".yaml")).root();
    set_field(out.model, "name", scalar_value(like->scalar, {}));
  } else {
    out.model = common;
    set_field(out.model, "name", scalar_value(name, {}));
  }
  for (const Value::Field& field : entry.fields) {
    if (field.key == "note") out.note = field.value.scalar;
    if (field.key != "like" && field.key != "note") set_field(out.model, field.key, field.value);
  }
  return out;
}

std::optional<KnownModel> hugging_face_model(std::string_view id, const ScenarioSources& sources) {
  const std::filesystem::path& models = sources.folders.models;
  if (const auto name = model_of_hub(id, models)) return KnownModel{scalar_value(*name, {}), ""};
  if (const auto file = downloaded_configuration(id)) {
    return KnownModel{scalar_value(file->string(), {}), fmt::format("by {}", file->string())};
  }
  while (id.ends_with('/')) id.remove_suffix(1);
  const std::size_t slash = id.rfind('/');
  const auto hub = hub_name_ending(slash == std::string_view::npos ? id : id.substr(slash + 1), models);
  if (!hub) return std::nullopt;
  return KnownModel{scalar_value(*model_of_hub(*hub, models), {}), fmt::format("by its name, {}", *hub)};
}

ModelSpec imported_model(const Value& model, const Location& where, const ScenarioSources& sources) {
  const std::filesystem::path& folder = sources.folders.models;
  if (model.kind == Value::Kind::scalar) return load_model(model.scalar, folder, where);
  return parse_model(Document::from_text(emit_yaml(model), where.file), folder);
}

bool is_model_file(const std::string& text, const std::string& name) {
  if (!name.ends_with(".json") && !name.ends_with(".yaml") && !name.ends_with(".yml")) return false;
  try {
    const Value root = parse_yaml(text, name);
    if (root.kind != Value::Kind::mapping) return false;
    if (root.find("base_model") != nullptr || root.find("model_name_or_path") != nullptr) return false;
    const bool hub = root.find("model_type") != nullptr || root.find("architectures") != nullptr;
    return hub || (root.find("layers") != nullptr && root.find("hidden") != nullptr);
  } catch (const Error&) {
    return false;
  }
}

std::optional<std::int64_t> layers_of_model(const Value& model, const ScenarioSources& sources) {
  const auto layers_in = [](const Value& mapping) { return whole_number_of(text_under(mapping, "layers")); };
  if (model.kind == Value::Kind::mapping) return layers_in(model);
  if (model.kind != Value::Kind::scalar) return std::nullopt;
  if (is_model_path(model.scalar)) return load_model(model.scalar, sources.folders.models, model.where).layers;
  const auto path = sources.folders.models / (model.scalar + ".yaml");
  if (!std::filesystem::exists(path)) return std::nullopt;
  return layers_in(Document::from_file(path).root());
}

}  // namespace mirfak
