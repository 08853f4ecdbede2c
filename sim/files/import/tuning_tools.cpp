// Tools around Hugging Face's Trainer. Their keys become the Trainer's, each with its place and text, and the tool's
// defaults replace the Trainer's: LLaMA-Factory by default trains LoRA of rank 8 on all linear layers.

#include "import/tuning_tools.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/gpt_neox.hpp"
#include "import/hugging_face.hpp"
#include "import/launcher_options.hpp"
#include "import/option_reader.hpp"
#include "import/option_words.hpp"
#include "import/program_facts.hpp"
#include "import/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kLlamaFactoryFacts = "llama-factory";
constexpr std::string_view kAxolotlFacts = "axolotl";

bool has_one_of(const Value& root, std::initializer_list<std::string_view> keys) {
  return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) { return root.find(key) != nullptr; });
}

bool mentions(const ImportFile& file, std::string_view word) { return file.text.find(word) != std::string::npos; }

Value words_of_list(const Value& text) {
  Value out;
  out.kind = Value::Kind::sequence;
  out.where = out.key_where = text.where;
  for (std::size_t at = 0; at <= text.scalar.size();) {
    const std::size_t comma = std::min(text.scalar.find(',', at), text.scalar.size());
    out.items.push_back(scalar_value(trimmed(std::string_view(text.scalar).substr(at, comma - at)), text.where));
    at = comma + 1;
  }
  return out;
}

// Translates a value; a value without a word of the Trainer keeps the tool's name, under which it is judged.
void translate_word(Setting& setting, const Value& rule) {
  if (rule.kind == Value::Kind::scalar) {
    setting.name = rule.scalar;
    return;
  }
  const Value* values = rule.find("values");
  const bool word = setting.value.kind == Value::Kind::scalar;
  const Value* value = values == nullptr || !word ? nullptr : values->find(setting.value.scalar);
  const Value* list = rule.find("list");
  const Value* to = rule.find("to");
  if (to == nullptr) fail_internal("a rule of words without `to`");
  if (value != nullptr) {
    setting.value.scalar = value->scalar;
  } else if (word && list != nullptr) {
    setting.value = words_of_list(setting.value);
  } else if (word && to->scalar != setting.name) {
    return;
  }
  setting.name = to->scalar;
}

ImportDraft import_tool(std::vector<Setting> settings, std::string_view tool, std::span<const ImportFile> files,
                        const ImportContext& context) {
  const ProgramFacts facts(context.sources, tool);
  const Value& words = facts.section("words");
  std::erase_if(settings, [](const Setting& setting) { return setting.name.empty(); });
  for (Setting& setting : settings) {
    if (const Value* rule = words.find(setting.name)) translate_word(setting, *rule);
  }
  return import_trainer(std::move(settings), files, context, &facts);
}

ImportDraft read_tool_file(std::span<const ImportFile> files, const ImportContext& context, std::string_view tool) {
  const ImportFile& file = files.front();
  Value root = parse_foreign_yaml(file.text, file.name);
  return import_tool(settings_of(root), tool, files.subspan(1), context);
}

const ImportFile* file_behind(const LaunchCommand& command, std::span<const ImportFile> files) {
  const auto name = [](const std::string& path) { return std::filesystem::path(path).filename(); };
  for (const ArgumentWord& word : command.arguments) {
    const bool settings = word.text.ends_with(".yaml") || word.text.ends_with(".yml") || word.text.ends_with(".json");
    if (!settings || word.text.starts_with("--")) continue;
    const auto found = std::find_if(files.begin(), files.end(),
                                    [&](const ImportFile& file) { return name(file.name) == name(word.text); });
    if (found != files.end()) return &*found;
    fail_input(word.where, fmt::format("{}: a file of settings that is not among the files", excerpt(word.text)),
               "give it, too");
  }
  return nullptr;
}

}  // namespace

bool is_llama_factory_file(const ImportFile& file) {
  if (!mentions(file, "finetuning_type") && !mentions(file, "cutoff_len") && !mentions(file, "lora_target"))
    return false;
  const std::optional<Value> root = configuration_in(file);
  return root && root->find("lora_target_modules") == nullptr &&
         has_one_of(*root, {"finetuning_type", "cutoff_len", "lora_target"});
}

ImportDraft read_llama_factory_file(std::span<const ImportFile> files, const ImportContext& context) {
  return read_tool_file(files, context, kLlamaFactoryFacts);
}

bool is_axolotl_file(const ImportFile& file) {
  if (!mentions(file, "base_model")) return false;
  const std::optional<Value> root = configuration_in(file);
  return root && root->find("base_model") != nullptr &&
         has_one_of(*root, {"sequence_len", "micro_batch_size", "adapter", "sample_packing", "datasets", "num_epochs"});
}

ImportDraft read_axolotl_file(std::span<const ImportFile> files, const ImportContext& context) {
  return read_tool_file(files, context, kAxolotlFacts);
}

ImportDraft import_tuning_command(const LaunchCommand& command, std::vector<Setting> others,
                                  std::span<const ImportFile> files, const ImportContext& context) {
  const ImportFile* file = file_behind(command, files);
  if (file != nullptr && is_neox_file(*file)) {
    ImportDraft draft = import_neox(files_of_neox(command, files), std::move(others), context);
    if (!draft.machine.gpus()) draft.machine = command.machine;
    return draft;
  }
  if (file != nullptr && !is_llama_factory_file(*file) && !is_axolotl_file(*file)) {
    if (is_trainer_file(*file)) return import_command_of_config(command, std::move(others), files, context);
    fail_input(command.program_where,
               fmt::format("{}: a program whose options no reader knows, and {} does not tell",
                           excerpt(command.program), excerpt(file->name)),
               "describe the training as a scenario: mirfak init writes one to begin with");
  }
  std::vector<Setting> settings = launcher_settings(command, context.sources);
  std::string_view tool = kLlamaFactoryFacts;
  if (file != nullptr) {
    Value root = parse_foreign_yaml(file->text, file->name);
    if (is_axolotl_file(*file)) tool = kAxolotlFacts;
    for (Setting& setting : settings_of(root)) settings.push_back(std::move(setting));
  }
  for (Setting& setting : settings_of_python(command.arguments)) settings.push_back(std::move(setting));
  if (settings.empty()) {
    fail_input(command.program_where, fmt::format("{}: nothing says its settings", excerpt(command.program)),
               "give the file of settings that it is started with, too");
  }
  for (Setting& setting : others) settings.push_back(std::move(setting));
  std::vector<ImportFile> beside;
  for (const ImportFile& one : files) {
    if (file == nullptr || one.name != file->name) beside.push_back(one);
  }
  ImportDraft draft = import_tool(std::move(settings), tool, beside, context);
  if (!draft.machine.gpus()) draft.machine = command.machine;
  return draft;
}

}  // namespace mirfak
