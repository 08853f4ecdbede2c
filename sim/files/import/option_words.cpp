#include "import/option_words.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/hugging_face.hpp"
#include "import/launcher_options.hpp"
#include "import/megatron_bridge.hpp"
#include "import/option_reader.hpp"
#include "import/program_facts.hpp"
#include "import/program_identity.hpp"
#include "import/toml.hpp"
#include "import/torchtitan.hpp"
#include "import/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

namespace mirfak {

namespace {

bool has_word(const LaunchCommand& command, std::string_view name) {
  return std::any_of(command.arguments.begin(), command.arguments.end(), [&](const ArgumentWord& word) {
    return word.text == name || (word.text.starts_with(name) && word.text.substr(name.size()).starts_with('='));
  });
}

// True for a training: it has a batch, or options that a training has and a generation into a folder does not.
bool is_trainer(const LaunchCommand& command) {
  if (has_word(command, "--per_device_train_batch_size")) return true;
  constexpr std::array<std::string_view, 5> names = {"--num_train_epochs", "--learning_rate", "--max_steps",
                                                     "--gradient_accumulation_steps", "--lr_scheduler_type"};
  return has_word(command, "--output_dir") &&
         std::any_of(names.begin(), names.end(), [&](std::string_view name) { return has_word(command, name); });
}

// Returns the settings of a file that the command names, as TRL's --config or in place of all options: options after
// the file take precedence.
std::vector<Setting> settings_of_named_file(const LaunchCommand& command, std::span<const ImportFile> files) {
  std::vector<Setting> out;
  const ArgumentWord* named = nullptr;
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const ArgumentWord& word = command.arguments[i];
    if (word.text == "--config" && i + 1 < command.arguments.size()) named = &command.arguments[i + 1];
    const bool alone =
        i == 0 && (word.text.ends_with(".yaml") || word.text.ends_with(".yml") || word.text.ends_with(".json"));
    if (alone) named = &word;
  }
  if (named == nullptr) return out;
  const ImportFile& file = required_file(files, named->text, named->where);
  return settings_of(parse_foreign_yaml(file.text, file.name));
}

// Splits lists: a list is one word with commas, a list of lists is one such word for each list.
void split_lists(std::vector<Setting>& settings, const OptionList& list) {
  for (Setting& setting : settings) {
    const OptionEntry* entry = list.find(setting.name);
    const bool word = setting.value.kind == Value::Kind::scalar;
    if (entry == nullptr || setting.value.scalar == "None") continue;
    if (entry->form == OptionEntry::Form::list && word) setting.value = words_at_commas(setting.value);
    if (entry->form != OptionEntry::Form::groups) continue;
    Value groups = list_value(std::vector<std::string>{}, setting.value.where);
    if (word) groups.items.push_back(words_at_commas(setting.value));
    for (const Value& group : setting.value.items) groups.items.push_back(words_at_commas(group));
    setting.value = std::move(groups);
  }
}

// Adds the settings of a named configuration at the place of the option.
void add_named(std::vector<Setting>& out, const Setting& option, const ProgramFacts& facts) {
  const Value& configs = facts.section("configs");
  const Value* named = configs.find(option.value.scalar);
  if (named == nullptr) {
    std::vector<std::string> names;
    for (const Value::Field& field : configs.fields) names.push_back(field.key);
    fail_input(
        option.value.where,
        fmt::format("--config: no configuration of torchtitan is known by the name {}", excerpt(option.value.scalar)),
        did_you_mean(option.value.scalar, names, "known: " + join_or(names)));
  }
  for (Setting& setting : settings_of(*named)) {
    setting.where = setting.value.where = setting.value.key_where = option.where;
    setting.text = fmt::format("{} ({})", option.text, setting.text);
    out.push_back(std::move(setting));
  }
}

void add_file(std::vector<Setting>& out, const Setting& option, std::span<const ImportFile> files) {
  const ImportFile& file = required_file(files, option.value.scalar, option.value.where);
  for (Setting& setting : settings_of(parse_toml(file.text, file.name), " = ")) out.push_back(std::move(setting));
}

// Takes the words NAME:WORD of subcommands out of a command line, as settings.
std::vector<Setting> take_subcommands(std::vector<ArgumentWord>& words, const ProgramFacts& facts) {
  std::vector<Setting> out;
  std::erase_if(words, [&](const ArgumentWord& word) {
    const std::size_t colon = word.text.find(':');
    if (colon == std::string::npos) return false;
    std::string name = word.text.substr(0, colon);
    std::replace(name.begin(), name.end(), '_', '-');
    const Value* option = facts.section("subcommands").find(name);
    if (option == nullptr) return false;
    std::string value = word.text.substr(colon + 1);
    std::replace(value.begin(), value.end(), '-', '_');
    out.push_back({option->scalar, scalar_value(value, word.where), word.where, word.text, word.missing});
    return true;
  });
  return out;
}

ImportDraft import_torchtitan_command(const LaunchCommand& command, std::vector<Setting> others,
                                      std::span<const ImportFile> files, const ImportContext& context) {
  const ProgramFacts facts(context.sources, "torchtitan");
  std::vector<ArgumentWord> words = command.arguments;
  const std::vector<Setting> subcommands = take_subcommands(words, facts);
  std::vector<Setting> said = settings_of_python(words);
  said.insert(said.end(), subcommands.begin(), subcommands.end());
  split_lists(said, option_list(context.sources.folders.hardware, "torchtitan-toml"));
  std::vector<Setting> settings;
  std::vector<Setting> overrides;
  std::vector<Setting> sources;
  for (const Setting& setting : said) {
    if (setting.name == "config" || setting.name == "job.config_file") {
      if (setting.name == "config") add_named(settings, setting, facts);
      if (setting.name != "config") add_file(settings, setting, files);
      sources.push_back(setting);
    } else if (setting.name == "module") {
      sources.push_back(setting);
    } else {
      overrides.push_back(setting);
    }
  }
  settings.insert(settings.end(), overrides.begin(), overrides.end());
  settings.insert(settings.end(), sources.begin(), sources.end());
  for (Setting& setting : others) settings.push_back(std::move(setting));
  ImportContext inside = context;
  if (!inside.gpus) inside.gpus = command.machine.gpus();
  ImportDraft draft = import_torchtitan(std::move(settings), inside);
  for (const Setting* setting : draft.open()) {
    const bool source = setting->name == "config" || setting->name == "module" || setting->name == "job.config_file";
    if (source) draft.use(*setting, "its settings stand above");
  }
  return draft;
}

// True for a shell script, which has a reader of its own.
bool is_script_of_shell(const ImportFile& file) {
  const std::string ending = std::filesystem::path(file.name).extension().string();
  return file.text.starts_with("#!") || file.text.find("\n#SBATCH ") != std::string::npos || ending == ".sh" ||
         ending == ".bash" || ending == ".slurm" || ending == ".sbatch";
}

// Returns the command line of a file, or of options alone if their program allows it.
std::optional<LaunchCommand> command_in(const ImportFile& file) {
  std::vector<ArgumentWord> words = words_of_text(file.text, file.name);
  if (words.empty() || !words.front().text.starts_with("--")) return launch_command(words);
  LaunchCommand out;
  out.where = out.program_where = words.front().where;
  out.arguments = std::move(words);
  if (has_word(out, "--module") && has_word(out, "--config")) out.program = "torchtitan.train";
  if (has_word(out, "--recipe")) out.program = kBridgeProgram;
  if (out.program.empty() && is_trainer(out)) out.program = "trl.scripts.sft";
  return out.program.empty() ? std::nullopt : std::optional(std::move(out));
}

}  // namespace

std::vector<Setting> settings_of_python(std::span<const ArgumentWord> words) {
  std::vector<Setting> out = settings_of_arguments(words);
  for (Setting& setting : out) {
    setting.name = setting.name.substr(std::min(setting.name.find_first_not_of('-'), setting.name.size()));
    std::replace(setting.name.begin(), setting.name.end(), '-', '_');
    if (setting.value.kind != Value::Kind::null || !setting.missing.empty()) continue;
    setting.value = scalar_value("true", setting.where);
    const std::size_t no = setting.name.find(".no_");
    if (no == std::string::npos) continue;
    setting.name.erase(no + 1, 3);
    setting.value.scalar = "false";
  }
  return out;
}

bool is_torchtitan_command(const LaunchCommand& command) {
  return command.program == "torchtitan.train" || command.program.ends_with("torchtitan/train.py");
}

bool is_command_of_config(const LaunchCommand& command) {
  return is_torchtitan_command(command) || is_bridge_command(command) || is_trainer(command);
}

ImportDraft import_command_of_config(const LaunchCommand& command, std::vector<Setting> others,
                                     std::span<const ImportFile> files, const ImportContext& context) {
  if (is_torchtitan_command(command)) {
    ImportDraft draft = import_torchtitan_command(command, std::move(others), files, context);
    draft.machine = command.machine;
    return draft;
  }
  ImportContext inside = context;
  if (!inside.gpus) inside.gpus = command.machine.gpus();
  if (is_bridge_command(command)) {
    ImportDraft draft = import_bridge_command(command, std::move(others), inside);
    draft.machine = command.machine;
    return draft;
  }
  std::vector<Setting> settings = launcher_settings(command, context.sources);
  for (Setting& setting : settings_of_named_file(command, files)) settings.push_back(std::move(setting));
  for (Setting& setting : settings_of_python(command.arguments)) {
    if (setting.name != "config") settings.push_back(std::move(setting));
  }
  for (Setting& setting : others) settings.push_back(std::move(setting));
  const std::optional<ProgramIdentity> known = KnownPrograms(context.sources).of_launch(command);
  ImportDraft draft = known ? import_trainer(std::move(settings), files, inside, nullptr, known->is)
                            : import_trainer(std::move(settings), files, inside, nullptr, "", command.program);
  if (!draft.machine.gpus()) draft.machine = command.machine;
  return draft;
}

std::optional<LaunchCommand> config_command(const ImportFile& file) { return command_in(file); }

bool is_config_command(const ImportFile& file) {
  const bool may =
      mentions(file, {"torchtitan", "--config", "--recipe", "--per_device_train_batch_size", "--output_dir"});
  if (!may || is_script_of_shell(file)) return false;
  try {
    const std::optional<LaunchCommand> command = command_in(file);
    return command && is_command_of_config(*command);
  } catch (const Error&) {
    return false;
  }
}

static ImportDraft read_config_command(std::span<const ImportFile> files, const ImportContext& context) {
  const std::optional<LaunchCommand> command = command_in(files.front());
  if (!command || !is_command_of_config(*command)) {
    fail_input({files.front().name, 1, 1},
               "expected a command line that starts torchtitan, Megatron-Bridge's run_recipe.py or a Trainer's script");
  }
  ImportDraft draft = import_command_of_config(*command, {}, files.subspan(1), context);
  judge_program(draft, *command, context.sources);
  return draft;
}

const ImportFormat kConfigCommand = {"launch-command",
                                     "a command line of torchtitan, of Megatron-Bridge's run_recipe.py, or "
                                     "of a script with the options of Hugging Face's "
                                     "Trainer",
                                     is_config_command, read_config_command};

}  // namespace mirfak
