#include "import/launch_programs.hpp"

#include "import/megatron_deepspeed.hpp"
#include "import/megatron_formats.hpp"
#include "import/megatron_options.hpp"
#include "import/megatron_settings.hpp"
#include "import/option_words.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

bool has_option(const LaunchCommand& launch, std::string_view name) {
  return std::any_of(launch.arguments.begin(), launch.arguments.end(), [&](const ArgumentWord& word) {
    return word.text.starts_with("--") && megatron_option_name(word.text.substr(0, word.text.find('='))) == name;
  });
}

// By options that every launch of it has.
bool is_megatron(const LaunchCommand& launch) {
  return has_option(launch, "--micro-batch-size") || has_option(launch, "--num-layers") ||
         has_option(launch, "--tensor-model-parallel-size") || has_option(launch, "--yaml-cfg");
}

const ImportFile* file_named(std::span<const ImportFile> files, const std::string& name) {
  const auto last = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const ImportFile& file) { return last(file.name) == last(name); });
  return found == files.end() ? nullptr : &*found;
}

std::vector<Setting> open_settings(const ImportDraft& draft) {
  std::vector<Setting> out;
  for (const Setting* setting : draft.open()) out.push_back(*setting);
  return out;
}

// The draft begins anew, with what is known of the machines and noted.
void replace_draft(ImportDraft& draft, ImportDraft fresh) {
  fresh.machine = draft.machine;
  fresh.notes = draft.notes;
  draft = std::move(fresh);
}

// --yaml-cfg FILE, beside which Megatron-LM reads no other options.
void read_yaml_configuration(ImportDraft& draft, const Setting& named, std::span<const ImportFile> files,
                             const ImportContext& context) {
  const ImportFile* file = file_named(files, word_of(named.value));
  if (file == nullptr)
    fail_input(named.where, fmt::format("{} is not among the files", excerpt(word_of(named.value))), "give it, too");
  ImportDraft fresh = import_megatron_yaml(*file, open_settings(draft), context);
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
    read_megatron_settings(draft, {launch.program, launch.program_where}, inside);
  }
  judge_megatron_environment(draft);
}

// Options of these are named otherwise than Megatron-LM's: the draft begins anew, with what the script says beside
// them.
void read_of_config(ImportDraft& draft, const LaunchCommand& launch, std::span<const ImportFile> files,
                    const ImportContext& context) {
  std::vector<Setting> others;
  for (const Setting* setting : draft.open()) {
    if (!setting->name.starts_with("--")) others.push_back(*setting);
  }
  LaunchCommand command = launch;
  command.machine = draft.machine;
  ImportDraft fresh = import_command_of_config(command, std::move(others), files, context);
  fresh.notes = draft.notes;
  draft = std::move(fresh);
  judge_megatron_environment(draft);
}

constexpr std::array kPrograms = {LaunchProgram{"megatron", is_megatron, read_megatron},
                                  LaunchProgram{"torchtitan or the Trainer", is_command_of_config, read_of_config}};

}  // namespace

const LaunchProgram* program_of_launch(const LaunchCommand& launch) {
  const auto* const found = std::find_if(kPrograms.begin(), kPrograms.end(),
                                         [&](const LaunchProgram& program) { return program.recognises(launch); });
  return found == kPrograms.end() ? nullptr : found;
}

}  // namespace mirfak
