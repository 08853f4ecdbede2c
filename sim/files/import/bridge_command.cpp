// NVIDIA-NeMo/Megatron-Bridge v0.6.0: scripts/training/run_recipe.py.

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/megatron_bridge.hpp"
#include "import/program_facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

namespace mirfak {

namespace {

Setting setting_of(std::string name, Value value, const ArgumentWord& word) {
  return {std::move(name), std::move(value), word.where, word.text, word.missing};
}

// Returns the setting of an override: model.pipeline_model_parallel_size=4, with + or ++ before the key if the recipe
// does not have the key.
Setting override_setting(const ArgumentWord& word, std::size_t equals) {
  Location where = word.where;
  where.column += static_cast<int>(equals) + 1;
  const std::string_view text = word.text;
  std::string_view name = text.substr(0, equals);
  while (name.starts_with('+')) name.remove_prefix(1);
  return setting_of(std::string(name), override_value(text.substr(equals + 1), where), word);
}

std::vector<Setting> bridge_settings(const std::vector<ArgumentWord>& words, const Value& short_forms) {
  std::vector<Setting> out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    const std::size_t equals = text.find('=');
    if (!text.starts_with('-')) {
      if (text.empty()) continue;
      if (equals == std::string::npos || text.starts_with('~')) {
        fail_input(words[i].where, fmt::format("expected KEY=VALUE, found '{}'", excerpt(text)));
      }
      out.push_back(override_setting(words[i], equals));
      continue;
    }
    const std::string option = text.substr(0, equals);
    const Value* field = short_forms.find(option);
    std::string name = field == nullptr ? option.substr(option.find_first_not_of('-')) : field->scalar;
    const bool behind = equals == std::string::npos && i + 1 < words.size() && !words[i + 1].text.starts_with('-') &&
                        words[i + 1].text.find('=') == std::string::npos;
    if (equals != std::string::npos) {
      out.push_back(setting_of(std::move(name), scalar_value(text.substr(equals + 1), words[i].where), words[i]));
    } else if (behind) {
      out.push_back(setting_of(std::move(name), scalar_value(words[i + 1].text, words[i + 1].where), words[i]));
      out.back().text += " " + words[++i].text;
    } else {
      out.push_back(setting_of(std::move(name), scalar_value("true", words[i].where), words[i]));
    }
  }
  return out;
}

// Adds the fields of a named precision at the place of its name.
void add_precision_fields(std::vector<Setting>& settings, const Value& named) {
  const Setting* said = last_of(settings, "mixed_precision");
  if (said == nullptr) return;
  const Setting name = *said;
  const Value* fields = named.find(name.value.scalar);
  if (fields == nullptr) {
    std::vector<std::string> names;
    for (const Value::Field& field : named.fields) names.push_back(field.key);
    fail_input(name.value.where,
               fmt::format("a mixed precision that mirfak does not know: '{}'", excerpt(name.value.scalar)),
               did_you_mean(name.value.scalar, names, "known: " + join_or(names)));
  }
  for (const Value::Field& field : fields->fields) {
    Value value = field.value;
    value.where = value.key_where = name.value.where;
    settings.push_back({field.key, std::move(value), name.where, fmt::format("{} ({})", name.text, field.key)});
  }
}

// Returns the model of a recipe, by its whole name, else by the longest known prefix of its name.
std::string model_of_recipe(const std::string& recipe, const ProgramFacts& facts) {
  if (const Value* known = facts.section("pretraining_recipes").find(recipe)) return known->find("model")->scalar;
  return text_under_longest(facts.section("recipes"), [&](const std::string& one) { return recipe.starts_with(one); });
}

void miss_what_recipes_say(ImportDraft& draft, const std::vector<Setting>& said, const Setting& recipe,
                           const Value& keys) {
  std::vector<std::string> missing;
  for (const Value& key : keys.items) {
    if (last_of(said, key.scalar) == nullptr) missing.push_back(key.scalar);
  }
  if (missing.empty()) return;
  draft.obstruct(recipe.where, fmt::format("the recipe's value of {} is not known: state it as an override",
                                           fmt::join(missing, ", ")));
}

void judge_own_options(ImportDraft& draft) {
  for (const Setting* setting : draft.open()) {
    if (setting->name == "recipe" || setting->name == "model") draft.use(*setting, "its model");
    if (setting->name == "mixed_precision") draft.use(*setting, "its fields stand below");
    const bool pretraining = setting->name == "mode" && setting->value.scalar == "pretrain";
    if (pretraining) draft.use(*setting, "all of the model is trained");
    if (setting->name == "mode" && !pretraining)
      draft.doubt(*setting, "tuning: what of the model is trained is not read from the recipe");
    if (setting->name == "dataset") draft.leave(*setting, "data");
  }
}

}  // namespace

bool is_bridge_command(const LaunchCommand& command) { return command.program == kBridgeProgram; }

ImportDraft import_bridge_command(const LaunchCommand& command, std::vector<Setting> others,
                                  const ImportContext& context) {
  const ProgramFacts facts(context.sources, "megatron-bridge");
  std::vector<Setting> settings = bridge_settings(command.arguments, facts.section("command_options"));
  const Setting* found = last_of(settings, "recipe");
  if (found == nullptr) found = last_of(settings, "model");
  if (found == nullptr) fail_input(command.program_where, "run_recipe.py needs a recipe", "say --recipe NAME");
  const Setting recipe = *found;
  const std::vector<Setting> said = settings;
  add_precision_fields(settings, facts.section("mixed_precisions"));
  for (Setting& setting : others) settings.push_back(std::move(setting));
  const std::string model = model_of_recipe(recipe.value.scalar, facts);
  const bool sizes = last_of(said, "model.num_layers") != nullptr;
  if (model.empty() && !sizes) {
    fail_input(recipe.value.where, fmt::format("the model of the recipe {} is not known", excerpt(recipe.value.scalar)),
               "say its sizes as overrides: model.num_layers=32, model.hidden_size=4096, ...");
  }
  ImportDraft draft =
      import_megatron_bridge(std::move(settings), command.program_where, context, sizes ? "" : model, "the recipe's");
  miss_what_recipes_say(draft, said, recipe, facts.section("recipe_says"));
  judge_own_options(draft);
  return draft;
}

}  // namespace mirfak
