#include "import/megatron_formats.hpp"

#include "base/document.hpp"
#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/argument_words.hpp"
#include "import/megatron_deepspeed.hpp"
#include "import/megatron_dialect.hpp"
#include "import/megatron_settings.hpp"
#include "import/number_words.hpp"
#include "import/option_reader.hpp"
#include "import/option_words.hpp"
#include "import/program_facts.hpp"
#include "import/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace mirfak {

namespace {

// Returns the first word of a text outside of comments.
std::string_view first_word(std::string_view text) {
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin);
    if (text.front() != '#') return text.substr(0, text.find_first_of(" \t\r\n="));
    const std::size_t end = text.find('\n');
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end);
  }
  return {};
}

bool has_line(const std::string& text, std::string_view start) {
  return text.starts_with(start) || text.find("\n" + std::string(start)) != std::string::npos;
}

bool is_argument_list(const ImportFile& file) {
  const std::string_view word = first_word(file.text);
  return word.size() > 2 && word.starts_with("--") && word[2] != '-' && !is_megatron_deepspeed(file) &&
         !is_config_command(file);
}

ImportDraft read_argument_list(std::span<const ImportFile> files, const ImportContext& context) {
  const ImportFile& file = files.front();
  ImportDraft draft(settings_of_arguments(words_of_text(file.text, file.name)));
  read_megatron_settings(draft, {"", {file.name, 1, 1}, {}, {}, true}, context);
  return draft;
}

bool is_test(const ImportFile& file) { return has_line(file.text, "MODEL_ARGS:"); }

void require_pretraining(const Value& root) {
  const Value* mode = root.find("MODE");
  if (mode == nullptr || mode->scalar == "pretraining") return;
  fail_input(mode->where, fmt::format("MODE: {} is not a training that mirfak simulates", mode->scalar),
             "expected MODE: pretraining, or none");
}

// Returns Megatron's name of an argument; names of NeMo's overrides end in it:
// "trainer.strategy.tensor_model_parallel_size".
std::string argument_name(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  return megatron_option_name(dot == std::string_view::npos ? key : key.substr(dot + 1));
}

void read_nemo_machine(ImportDraft& draft) {
  const Setting* nodes = draft.find("--num-nodes");
  const Setting* devices = draft.find("--devices");
  const auto number = [](const Setting* setting) -> std::optional<std::int64_t> {
    if (setting == nullptr) return std::nullopt;
    const std::optional<std::int64_t> count = whole_number_of(setting->value.scalar);
    if (!count || *count < 1 || *count > 1'000'000)
      fail_input(setting->where, fmt::format("{}: expected a number from 1, found '{}'", setting->name,
                                             excerpt(setting->value.scalar)));
    return count;
  };
  if (devices == nullptr) return;
  draft.machine.nodes = number(nodes).value_or(1);
  draft.machine.gpus_per_node = number(devices);
  draft.use(*devices, "GPUs of a node");
  if (nodes != nullptr) draft.use(*nodes, "nodes");
}

ImportDraft read_test(std::span<const ImportFile> files, const ImportContext& context) {
  const ImportFile& file = files.front();
  Value root = parse_foreign_yaml(file.text, file.name);
  require_pretraining(root);
  const Value* found = root.find("MODEL_ARGS");
  if (found == nullptr || found->kind != Value::Kind::mapping)
    fail_input({file.name, 1, 1}, "expected a mapping MODEL_ARGS");
  Value arguments = *found;
  replace_variables(arguments, context.environment);
  std::vector<Setting> settings = settings_of_mapping(arguments, argument_name);
  if (const Value* variables = root.find("ENV_VARS")) {
    for (Setting& variable :
         settings_of_mapping(*variables, [](std::string_view name) { return "$" + std::string(name); })) {
      settings.push_back(std::move(variable));
    }
  }
  ImportDraft draft(std::move(settings));
  read_nemo_machine(draft);
  read_megatron_settings(draft, {"", found->key_where}, context);
  judge_megatron_environment(draft);
  return draft;
}

bool is_megatron_yaml(const ImportFile& file) {
  return has_line(file.text, "language_model:") && has_line(file.text, "model_parallel:");
}

ImportDraft read_megatron_yaml(std::span<const ImportFile> files, const ImportContext& context) {
  return import_megatron_yaml(files.front(), {}, context);
}

}  // namespace

ImportDraft import_megatron_yaml(const ImportFile& file, std::vector<Setting> others, const ImportContext& context) {
  Value root = parse_foreign_yaml(file.text, file.name);
  replace_variables(root, context.environment);
  const ProgramFacts facts(context.sources, "megatron-yaml");
  std::vector<Setting> settings = settings_of(root);
  for (Setting& setting : settings) setting.missing = missing_names(setting.value);
  settings = in_megatron_words(std::move(settings), facts);
  for (Setting& setting : others) settings.push_back(std::move(setting));
  ImportDraft draft(std::move(settings));
  leave_python(draft);
  read_megatron_settings(draft, {"", {file.name, 1, 1}}, context);
  facts.judge_rest(draft);
  return draft;
}

void judge_megatron_environment(ImportDraft& draft) {
  for (const Setting* setting : draft.open()) {
    if (!setting->name.starts_with("$")) continue;
    if (setting->name == "$CUDA_LAUNCH_BLOCKING" && setting->value.scalar == "1") {
      draft.take(*setting, "training.blocking_launches", "true");
    } else {
      draft.leave(*setting, "a variable of the environment, which no prediction reads");
    }
  }
}

const ImportFormat kMegatronArguments = {"megatron-arguments",
                                         "Megatron-LM's arguments, '--name value', in a text file", is_argument_list,
                                         read_argument_list};
const ImportFormat kMegatronTest = {
    "megatron-test", "YAML with MODEL_ARGS and ENV_VARS: Megatron-LM's functional tests, the Megatron MoE zoo", is_test,
    read_test};
const ImportFormat kMegatronYaml = {"megatron-yaml", "YAML of Megatron-LM's --yaml-cfg: language_model, model_parallel",
                                    is_megatron_yaml, read_megatron_yaml};

}  // namespace mirfak
