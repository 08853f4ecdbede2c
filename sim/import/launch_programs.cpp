#include "import/launch_programs.hpp"

#include "import/megatron_formats.hpp"
#include "import/megatron_options.hpp"
#include "import/megatron_settings.hpp"
#include "import/option_words.hpp"

#include "base/yaml.hpp"

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

// The ZeRO stage of DeepSpeed's own file, which scripts write, where no --zero-stage says it.
void read_deepspeed_stage(ImportDraft& draft, std::span<const ImportFile> files) {
  const Setting* config = draft.find("--deepspeed-config");
  if (config == nullptr || draft.find("--zero-stage") != nullptr) return;
  const auto named = [](const std::string& name) { return name.substr(name.rfind('/') + 1); };
  for (const ImportFile& file : files) {
    if (named(file.name) != named(word_of(config->value))) continue;
    const Value root = parse_foreign_yaml(file.text, file.name);
    const Value* zero = root.find("zero_optimization");
    const Value* stage = zero == nullptr ? nullptr : zero->find("stage");
    const std::string text = stage == nullptr ? "0" : stage->scalar;
    draft.take(*config, "strategy.zero", text, fmt::format("zero_optimization.stage of {}", file.name));
    return;
  }
}

void read_megatron(ImportDraft& draft, const LaunchCommand& launch, std::span<const ImportFile> files,
                   const ImportContext& context) {
  read_megatron_settings(draft, {launch.program, launch.program_where}, context);
  read_deepspeed_stage(draft, files);
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
