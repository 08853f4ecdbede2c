// Tools around Hugging Face's Trainer. Their keys become the Trainer's, each with its place and text, and the tool's
// defaults replace the Trainer's: LLaMA-Factory by default trains LoRA of rank 8 on all linear layers.

#include "import/tuning_tools.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/file_beside.hpp"
#include "import/gpt_neox.hpp"
#include "import/hugging_face.hpp"
#include "import/launcher_options.hpp"
#include "import/megatron_swift.hpp"
#include "import/number_words.hpp"
#include "import/option_reader.hpp"
#include "import/option_words.hpp"
#include "import/program_facts.hpp"
#include "import/program_identity.hpp"
#include "import/tool_kernels.hpp"
#include "import/yaml_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kLlamaFactoryFacts = "llama-factory";
constexpr std::string_view kAxolotlFacts = "axolotl";
constexpr std::string_view kSwiftFacts = "ms-swift";
constexpr std::string_view kMegatronSwiftFacts = "megatron-swift";
// Programs that their names or options tell, whose facts are called as their readers.
constexpr std::array<std::string_view, 8> kNamedTools = {
    kSwiftFacts, kMegatronSwiftFacts, "internvl", "vila", "qwen-vl", "minicpm-v", "llama-cookbook", "openrlhf"};

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
  } else if (values != nullptr && word && text_under(rule, "others") != "true" && to->scalar != setting.name) {
    return;
  }
  setting.name = to->scalar;
}

// Returns what a value means beyond the Trainer's word for it; "": nothing.
std::string note_of(const Setting& setting, const Value& rule) {
  const Value* notes = rule.kind == Value::Kind::mapping ? rule.find("notes") : nullptr;
  return notes == nullptr || setting.value.kind != Value::Kind::scalar ? "" : text_under(*notes, setting.value.scalar);
}

// Takes away the names of classes that may stand before options: "fsdp_config.pure_bf16".
void strip_classes(std::vector<Setting>& settings, const Value& classes) {
  for (Setting& setting : settings) {
    for (const Value& name : classes.items) {
      if (setting.name.starts_with(name.scalar + ".")) setting.name.erase(0, name.scalar.size() + 1);
    }
  }
}

// Puts the settings that a word of the tool stands for in its place, or those of a file that the tool brings, unless
// there is such a file. Settings that are stated themselves stand as they are.
void expand_presets(std::vector<Setting>& settings, const Value& presets, std::span<const ImportFile> files) {
  std::vector<std::string> stated;
  for (const Setting& setting : settings) stated.push_back(setting.name);
  std::vector<Setting> out;
  for (Setting& setting : settings) {
    const Value* names = presets.find(setting.name);
    const bool word = setting.value.kind == Value::Kind::scalar;
    const Value* preset = names == nullptr || !word ? nullptr : names->find(setting.value.scalar);
    if (preset == nullptr || file_beside(files, setting.value.scalar, setting.where.file)) {
      out.push_back(std::move(setting));
      continue;
    }
    for (Setting& inner : settings_of(*preset)) {
      const bool again =
          inner.name != setting.name && std::find(stated.begin(), stated.end(), inner.name) != stated.end();
      if (again) continue;
      inner.where = inner.value.where = inner.value.key_where = setting.where;
      inner.text = fmt::format("{} ({})", setting.text, inner.text);
      out.push_back(std::move(inner));
    }
  }
  settings = std::move(out);
}

// Adds what the tool has by itself to its settings, where these do not say it.
void bring(std::vector<Setting>& settings, const Value& brought, const Location& where) {
  std::vector<Setting> out;
  for (Setting& setting : settings_of(brought)) {
    if (last_of(settings, setting.name) != nullptr) continue;
    setting.text = fmt::format("{} (unless options say another)", setting.text);
    setting.where = setting.value.where = setting.value.key_where = where;
    out.push_back(std::move(setting));
  }
  settings.insert(settings.begin(), out.begin(), out.end());
}

// Translates the tool's words, and returns what their values mean beyond the Trainer's.
std::vector<ImportObstacle> translate_words(std::vector<Setting>& settings, const Value& words) {
  std::vector<std::string> names;
  for (const Setting& setting : settings) names.push_back(setting.name);
  const auto stated = [&](const std::string& name) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& one) { return one == name || one.starts_with(name + "."); });
  };
  std::vector<ImportObstacle> notes;
  for (Setting& setting : settings) {
    const Value* rule = words.find(setting.name);
    const std::string beside = rule == nullptr ? "" : text_under(*rule, "beside");
    if (rule == nullptr || (!beside.empty() && !stated(beside))) continue;
    const std::string note = note_of(setting, *rule);
    if (!note.empty()) notes.push_back({setting.where, fmt::format("{}: {}", setting.text, note)});
    translate_word(setting, *rule);
  }
  return notes;
}

// `program`: what programs.yaml calls the program of a command; "": a file of settings is all that there is. `where`:
// its place.
ImportDraft import_tool(std::vector<Setting> settings, std::string_view tool, std::span<const ImportFile> files,
                        const ImportContext& context, std::string_view program, const Location& where = {}) {
  const ProgramFacts facts(context.sources, tool);
  // A key without a value is as if it were not there.
  std::erase_if(settings,
                [](const Setting& setting) { return setting.name.empty() || setting.value.kind == Value::Kind::null; });
  strip_classes(settings, facts.section("classes"));
  expand_presets(settings, facts.section("presets"), files);
  add_settings_of_plugins(settings, facts.section("plugins"));
  const std::vector<ImportObstacle> notes = translate_words(settings, facts.section("words"));
  bring(settings, facts.section("brings"), where);
  ImportDraft draft = import_trainer(std::move(settings), files, context, &facts, program);
  draft.notes.insert(draft.notes.end(), notes.begin(), notes.end());
  return draft;
}

ImportDraft read_tool_file(std::span<const ImportFile> files, const ImportContext& context, std::string_view tool) {
  const ImportFile& file = files.front();
  Value root = parse_foreign_yaml(file.text, file.name);
  return import_tool(settings_of(root), tool, files.subspan(1), context, "");
}

// Returns the tool of the command by its name; LLaMA-Factory where its file or options have told it.
std::string_view tool_of(const std::optional<ProgramIdentity>& known, const ImportFile* file) {
  const auto* const named = std::find(kNamedTools.begin(), kNamedTools.end(), known ? known->reader : std::string());
  if (named != kNamedTools.end()) return *named;
  if (file != nullptr && is_swift_file(*file)) return kSwiftFacts;
  return file != nullptr && is_axolotl_file(*file) ? kAxolotlFacts : kLlamaFactoryFacts;
}

const ImportFile* file_behind(const LaunchCommand& command, std::span<const ImportFile> files) {
  std::string before;
  bool options = false;
  for (const ArgumentWord& word : command.arguments) {
    const bool named = std::exchange(before, word.text) == "--config";
    options = options || word.text.starts_with("--");
    if (options && !named) continue;  // values of options: files of data, or of another program
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

bool is_swift_file(const ImportFile& file) {
  if (!mentions(file, {"tuner_type", "train_type"}) || is_megatron_swift_file(file)) return false;
  const std::optional<Value> root = configuration_in(file);
  return root && has_key_of(*root, {"model"}) && has_key_of(*root, {"tuner_type", "train_type"});
}

static ImportDraft read_swift_file(std::span<const ImportFile> files, const ImportContext& context) {
  return read_tool_file(files, context, kSwiftFacts);
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

// Reads the processes that ms-swift starts by itself, from the environment; without a word it starts one, which spreads
// the layers over all GPUs.
static void read_swift_processes(ImportDraft& draft, const LaunchCommand& command) {
  if (draft.machine.gpus() || !command.starts_itself()) return;
  const Setting* processes = draft.find("$NPROC_PER_NODE");
  if (processes == nullptr) {
    draft.notes.push_back(
        {command.program_where,
         "ms-swift starts one process unless NPROC_PER_NODE says how many: one on each GPU is taken"});
    return;
  }
  const Setting* nodes = draft.find("$NNODES");
  draft.machine.gpus_per_node = whole_number_of(processes->value.scalar);
  draft.machine.nodes = nodes == nullptr ? 1 : whole_number_of(nodes->value.scalar);
  draft.machine.said_by = processes->text + (nodes == nullptr ? ", one node by default" : ", " + nodes->text);
  draft.use(*processes, "processes of a node, one on each GPU");
  if (nodes != nullptr) draft.use(*nodes, "nodes");
}

ImportDraft import_tuning_command(const LaunchCommand& command, std::vector<Setting> others,
                                  std::span<const ImportFile> files, const ImportContext& context) {
  const ImportFile* file = file_behind(command, files);
  if (file != nullptr && is_neox_file(*file)) {
    ImportDraft draft = import_neox(files_of_neox(command, files), std::move(others), context);
    if (!draft.machine.gpus()) draft.machine = command.machine;
    return draft;
  }
  const std::optional<ProgramIdentity> known = KnownPrograms(context.sources).of_launch(command);
  const std::string_view tool = tool_of(known, file);
  if (file != nullptr && tool == kLlamaFactoryFacts && !is_llama_factory_file(*file)) {
    if (is_trainer_file(*file)) return import_command_of_config(command, std::move(others), files, context);
    fail_input(command.program_where,
               fmt::format("{}: a program whose options no reader knows, and {} does not tell",
                           excerpt(command.program), excerpt(file->name)),
               "describe the training as a scenario: mirfak init writes one to begin with");
  }
  std::vector<Setting> settings = launcher_settings(command, context.sources);
  if (file != nullptr) {
    Value root = parse_foreign_yaml(file->text, file->name);
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
  const bool on_megatron = tool == kMegatronSwiftFacts;
  ImportDraft draft = on_megatron ? import_megatron_swift(std::move(settings), command.program_where, beside, context)
                                  : import_tool(std::move(settings), tool, beside, context, known ? known->is : "",
                                                command.program_where);
  if (!draft.machine.gpus()) draft.machine = command.machine;
  if (tool == kSwiftFacts || on_megatron) read_swift_processes(draft, command);
  return draft;
}

const ImportFormat kLlamaFactory = {"llama-factory-yaml",
                                    "LLaMA-Factory's YAML or JSON: finetuning_type, cutoff_len, ...",
                                    is_llama_factory_file, read_llama_factory_file};
const ImportFormat kSwift = {"ms-swift-yaml", "ms-swift's YAML or JSON: tuner_type, model, ...", is_swift_file,
                             read_swift_file};
const ImportFormat kAxolotl = {"axolotl-yaml", "axolotl's YAML: base_model, sequence_len, micro_batch_size, ...",
                               is_axolotl_file, read_axolotl_file};

}  // namespace mirfak
