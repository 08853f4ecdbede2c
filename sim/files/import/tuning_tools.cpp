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
    setting.value = words_at_commas(setting.value);
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
  for (const ArgumentWord& word : command.arguments) {
    const bool settings = word.text.ends_with(".yaml") || word.text.ends_with(".yml") || word.text.ends_with(".json");
    if (!settings || word.text.starts_with("--")) continue;
    if (const ImportFile* found = file_named(files, word.text)) return found;
    fail_input(word.where, fmt::format("{}: a file of settings that is not among the files", excerpt(word.text)),
               "give it, too");
  }
  return nullptr;
}

}  // namespace

bool is_llama_factory_file(const ImportFile& file) {
  if (!mentions(file, {"finetuning_type", "cutoff_len", "lora_target"})) return false;
  const std::optional<Value> root = configuration_in(file);
  return root && !has_key_of(*root, {"lora_target_modules"}) &&
         has_key_of(*root, {"finetuning_type", "cutoff_len", "lora_target"});
}

static ImportDraft read_llama_factory_file(std::span<const ImportFile> files, const ImportContext& context) {
  return read_tool_file(files, context, kLlamaFactoryFacts);
}

bool is_axolotl_file(const ImportFile& file) {
  if (!mentions(file, {"base_model"})) return false;
  const std::optional<Value> root = configuration_in(file);
  return root && has_key_of(*root, {"base_model"}) &&
         has_key_of(*root, {"sequence_len", "micro_batch_size", "adapter", "sample_packing", "datasets", "num_epochs"});
}

static ImportDraft read_axolotl_file(std::span<const ImportFile> files, const ImportContext& context) {
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

const ImportFormat kLlamaFactory = {"llama-factory-yaml",
                                    "LLaMA-Factory's YAML or JSON: finetuning_type, cutoff_len, ...",
                                    is_llama_factory_file, read_llama_factory_file};
const ImportFormat kAxolotl = {"axolotl-yaml", "axolotl's YAML: base_model, sequence_len, micro_batch_size, ...",
                               is_axolotl_file, read_axolotl_file};

}  // namespace mirfak
