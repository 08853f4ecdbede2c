#include "import/launch_programs.hpp"

#include "import/megatron_formats.hpp"
#include "import/megatron_settings.hpp"
#include "import/option_words.hpp"

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

void read_megatron(ImportDraft& draft, const LaunchCommand& launch, std::span<const ImportFile> /*files*/,
                   const ImportContext& context) {
  read_megatron_settings(draft, {launch.program, launch.program_where}, context);
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
