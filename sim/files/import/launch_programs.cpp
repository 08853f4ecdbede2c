#include "import/launch_programs.hpp"

#include "import/litgpt.hpp"
#include "import/llm_foundry.hpp"
#include "import/maxtext.hpp"
#include "import/megatron_deepspeed.hpp"
#include "import/megatron_formats.hpp"
#include "import/megatron_options.hpp"
#include "import/megatron_settings.hpp"
#include "import/nanotron.hpp"
#include "import/nemo.hpp"
#include "import/option_words.hpp"
#include "import/program_facts.hpp"
#include "import/program_identity.hpp"
#include "import/slime.hpp"
#include "import/torchtune.hpp"
#include "import/tuning_tools.hpp"
#include "import/verl.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

// Counts of options by likeness to Megatron-LM's.
struct MegatronWords {
  std::size_t own = 0;     // names of several words, which only Megatron-LM writes so
  std::size_t layout = 0;  // names of `own` that are sizes of the model, its groups and batches
  std::size_t foreign = 0;
};

MegatronWords megatron_words(const LaunchCommand& launch, const std::set<std::string, std::less<>>& names) {
  static const std::set<std::string, std::less<>> layout = {"num-layers",
                                                            "hidden-size",
                                                            "num-attention-heads",
                                                            "micro-batch-size",
                                                            "global-batch-size",
                                                            "seq-length",
                                                            "train-iters",
                                                            "train-samples",
                                                            "tensor-model-parallel-size",
                                                            "pipeline-model-parallel-size",
                                                            "max-position-embeddings"};
  MegatronWords out;
  for (const ArgumentWord& word : launch.arguments) {
    if (word.text.size() < 3 || !word.text.starts_with("--")) continue;
    const std::string_view name = std::string_view(word.text).substr(2, word.text.find('=') - 2);
    if (name.find('_') != std::string_view::npos || !names.contains(name)) {
      ++out.foreign;
    } else if (name.find('-') != std::string_view::npos) {
      ++out.own;
      if (layout.contains(name)) ++out.layout;
    }
  }
  return out;
}

// True if a program of another name takes Megatron-LM's options: nearly all of its options are Megatron-LM's.
bool takes_megatron_options(const LaunchCommand& launch, const ScenarioSources& sources) {
  const ProgramFacts facts(sources, "megatron");
  const MegatronWords words = megatron_words(launch, {facts.names().begin(), facts.names().end()});
  return words.layout >= 3 && 4 * words.foreign <= words.own;
}

bool has_megatron_option(const LaunchCommand& launch) {
  constexpr std::array<std::string_view, 7> names = {
      "--micro-batch-size", "--num-layers", "--tensor-model-parallel-size", "--yaml-cfg",
      "--hidden-size",      "--seq-length", "--num-attention-heads"};
  return std::any_of(launch.arguments.begin(), launch.arguments.end(), [&](const ArgumentWord& word) {
    const std::string_view name = std::string_view(word.text).substr(0, word.text.find('='));
    return word.text.starts_with("--") &&
           std::find(names.begin(), names.end(), megatron_option_name(name)) != names.end();
  });
}

std::vector<Setting> open_settings(const ImportDraft& draft) {
  std::vector<Setting> out;
  for (const Setting* setting : draft.open()) out.push_back(*setting);
  return out;
}

// Replaces the draft by a fresh one, and keeps the known machines and the notes.
void replace_draft(ImportDraft& draft, ImportDraft fresh) {
  fresh.machine = draft.machine;
  fresh.notes.insert(fresh.notes.begin(), draft.notes.begin(), draft.notes.end());
  draft = std::move(fresh);
}

// Reads --yaml-cfg FILE; Megatron-LM reads no other options with it.
void read_yaml_configuration(ImportDraft& draft, const Setting& named, std::span<const ImportFile> files,
                             const ImportContext& context) {
  const ImportFile& file = required_file(files, word_of(named.value), named.where);
  ImportDraft fresh = import_megatron_yaml(file, open_settings(draft), context);
  for (const Setting* setting : fresh.open()) {
    if (setting->name == "--yaml-cfg") fresh.use(*setting, "its settings stand above");
  }
  replace_draft(draft, std::move(fresh));
}

void read_megatron(ImportDraft& draft, const LaunchCommand& launch, std::span<const ImportFile> files,
                   const ImportContext& context) {
  ImportContext inside = context;
  if (!inside.gpus) inside.gpus = draft.machine.gpus();
  const Setting* yaml = draft.find("--yaml-cfg");
  const Setting* config = draft.find("--deepspeed-config");
  const ImportFile* json = config == nullptr ? nullptr : file_named(files, word_of(config->value));
  if (yaml != nullptr) {
    read_yaml_configuration(draft, *yaml, files, inside);
  } else if (json != nullptr) {
    replace_draft(draft, import_megatron_deepspeed(open_settings(draft), {launch.program, launch.program_where},
                                                   std::span(json, 1), inside));
  } else {
    read_megatron_settings(draft, {launch.program, launch.program_where, {}, {}, true}, inside);
  }
  judge_megatron_environment(draft);
}

// Reads a command whose options have other names than Megatron-LM's: the draft begins anew, with the other statements
// of the script.
void read_of_config(ImportDraft& draft, const LaunchCommand& launch, std::span<const ImportFile> files,
                    const ImportContext& context) {
  std::vector<Setting> others;
  for (const Setting* setting : draft.open()) {
    if (!setting->name.starts_with("--")) others.push_back(*setting);
  }
  LaunchCommand command = launch;
  command.machine = draft.machine;
  ImportDraft fresh = import_command_of_config(command, std::move(others), files, context);
  fresh.notes.insert(fresh.notes.begin(), draft.notes.begin(), draft.notes.end());
  draft = std::move(fresh);
  judge_megatron_environment(draft);
}

ImportDraft import_settings_of(const LaunchCommand& launch, std::vector<Setting> others,
                               std::span<const ImportFile> files, const ImportContext& context) {
  const std::optional<ProgramIdentity> known = KnownPrograms(context.sources).of_launch(launch);
  const std::string reader = known ? known->reader : "";
  if (reader == "torchtune") return import_torchtune_command(launch, std::move(others), files, context);
  if (reader == "nanotron") return import_nanotron_command(launch, std::move(others), files, context);
  if (reader == "litgpt") return import_litgpt_command(launch, std::move(others), files, context);
  if (reader == "nemo") return import_nemo_command(launch, std::move(others), files, context);
  if (reader == "llm-foundry") return import_foundry_command(launch, std::move(others), files, context);
  if (reader == "slime") return import_slime_command(launch, std::move(others), context);
  if (reader == "verl") return import_verl_command(launch, std::move(others), files, context);
  if (reader == "maxtext") return import_maxtext_command(launch, std::move(others), files, context);
  return import_tuning_command(launch, std::move(others), files, context);
}

// Reads a file of settings that the command names, by the reader of such files.
void read_of_settings(ImportDraft& draft, const LaunchCommand& launch, std::span<const ImportFile> files,
                      const ImportContext& context) {
  std::vector<Setting> others;
  for (const Setting* setting : draft.open()) {
    if (setting->name.starts_with('$') || setting->name.starts_with('#')) others.push_back(*setting);
  }
  ImportContext inside = context;
  if (!inside.gpus) inside.gpus = draft.machine.gpus();
  ImportDraft fresh = import_settings_of(launch, std::move(others), files, inside);
  if (fresh.machine.gpus()) draft.machine = fresh.machine;
  replace_draft(draft, std::move(fresh));
  judge_megatron_environment(draft);
}

constexpr std::array kPrograms = {
    ProgramReader{"megatron", read_megatron},          ProgramReader{"trainer", read_of_config},
    ProgramReader{"config", read_of_config},           ProgramReader{"llama-factory", read_of_settings},
    ProgramReader{"axolotl", read_of_settings},        ProgramReader{"gpt-neox", read_of_settings},
    ProgramReader{"ms-swift", read_of_settings},       ProgramReader{"megatron-swift", read_of_settings},
    ProgramReader{"torchtune", read_of_settings},      ProgramReader{"maxtext", read_of_settings},
    ProgramReader{"nanotron", read_of_settings},       ProgramReader{"litgpt", read_of_settings},
    ProgramReader{"verl", read_of_settings},           ProgramReader{"slime", read_of_settings},
    ProgramReader{"nemo", read_of_settings},           ProgramReader{"llm-foundry", read_of_settings},
    ProgramReader{"internvl", read_of_settings},       ProgramReader{"vila", read_of_settings},
    ProgramReader{"qwen-vl", read_of_settings},        ProgramReader{"minicpm-v", read_of_settings},
    ProgramReader{"llama-cookbook", read_of_settings}, ProgramReader{"openrlhf", read_of_settings},
    ProgramReader{"settings", read_of_settings}};

// True for a command whose first argument is a file of settings: the file may identify the program.
bool names_settings(const LaunchCommand& launch) {
  if (launch.arguments.empty()) return false;
  const std::string& first = launch.arguments.front().text;
  return !first.starts_with('-') && (first.ends_with(".yaml") || first.ends_with(".yml") || first.ends_with(".json"));
}

const ProgramReader* program_with_reader(std::string_view reader) {
  const auto* const found = std::find_if(kPrograms.begin(), kPrograms.end(),
                                         [&](const ProgramReader& program) { return program.reader == reader; });
  return found == kPrograms.end() ? nullptr : found;
}

}  // namespace

const ProgramReader* program_of_launch(const LaunchCommand& launch, const ScenarioSources& sources) {
  const std::optional<ProgramIdentity> known = KnownPrograms(sources).of_launch(launch);
  if (known && (!known->trains || known->kind == "unread")) return nullptr;
  if (known && !known->reader.empty()) {
    const bool empty = known->reader == "megatron" && !has_megatron_option(launch);
    return empty ? nullptr : program_with_reader(known->reader);
  }
  if (known && !known->reason.empty() && !known->unless_tower) return nullptr;
  if (is_command_of_config(launch)) return program_with_reader("config");
  if ((!known || known->unless_tower) && names_settings(launch)) return program_with_reader("settings");
  return takes_megatron_options(launch, sources) ? program_with_reader("megatron") : nullptr;
}

void read_launch(const ProgramReader& program, ImportDraft& draft, const LaunchCommand& launch,
                 std::span<const ImportFile> files, const ImportContext& context) {
  program.read(draft, launch, files, context);
  judge_program(draft, launch, context.sources);
  const bool known = KnownPrograms(context.sources).of_launch(launch).has_value();
  if (!known && program.reader == "megatron") {
    draft.notes.push_back(
        {launch.program_where,
         fmt::format("{} is not known by its name: its options are read as Megatron-LM's, whose pretraining "
                     "has the same",
                     excerpt(launch.program))});
  }
}

void refuse_launch(const LaunchCommand& launch, const ScenarioSources& sources) {
  const std::optional<ProgramIdentity> known = KnownPrograms(sources).of_launch(launch);
  if (known && !known->reason.empty())
    fail_input(known->where, fmt::format("{}: {}", excerpt(known->by), identity_text(*known)), identity_hint(*known));
  fail_input(
      launch.program_where, fmt::format("{}: a program whose options no reader knows", excerpt(launch.program)),
      "mirfak reads those of Megatron-LM, Megatron-DeepSpeed, torchtitan, Megatron-Bridge, Hugging Face's Trainer and "
      "what is built on it; describe another training as a scenario: mirfak init writes one to begin with");
}

}  // namespace mirfak
