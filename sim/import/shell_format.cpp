#include "import/shell_format.hpp"

#include "base/read_files.hpp"
#include "base/text.hpp"
#include "import/launch_command.hpp"
#include "import/launch_programs.hpp"
#include "import/megatron_settings.hpp"
#include "import/shell_script.hpp"
#include "import/slurm_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

namespace mirfak {

namespace {

namespace fs = std::filesystem;

bool has_ending(const std::string& name) {
  const std::string ending = fs::path(name).extension().string();
  return ending == ".sh" || ending == ".slurm" || ending == ".sbatch" || ending == ".bash";
}

bool is_script(const ImportFile& file) {
  const std::string first = nth_line(file.text, 1);
  const bool shell = first.starts_with("#!") && first.find("sh") != std::string::npos;
  return shell || has_ending(file.name) || file.text.find("\n#SBATCH ") != std::string::npos;
}

// Of the given files the one of this name, else the one that stands there beside the script.
std::optional<std::pair<std::string, std::string>> beside(std::span<const ImportFile> files, const std::string& name) {
  const fs::path wanted = fs::path(name).lexically_normal();
  for (const ImportFile& file : files) {
    if (!wanted.filename().empty() && fs::path(file.name).filename() == wanted.filename())
      return std::pair(file.name, file.text);
  }
  const fs::path folder = fs::path(files.front().name).parent_path();
  std::error_code ignored;
  for (const fs::path& path : {wanted.is_absolute() ? wanted : folder / wanted, folder / wanted.filename()}) {
    constexpr std::uintmax_t most = 2U << 20;
    if (wanted.filename().empty() || !fs::is_regular_file(path, ignored)) continue;
    if (fs::file_size(path, ignored) > most) {
      fail_input({path.string(), 1, 1}, "a file beside the script of more than 2 MiB",
                 "give the script without it, or a shorter one");
    }
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    note_read_file(path);
    return std::pair(path.string(), text.str());
  }
  return std::nullopt;
}

struct Launches {
  std::vector<LaunchCommand> all;
  std::vector<std::map<std::string, std::string>> environments;
};

Launches launches_of(const ShellRun& run) {
  Launches out;
  for (const ShellCommand& command : run.commands) {
    std::vector<ArgumentWord> words;
    for (const ArgumentWord& word : command.words) words.push_back(word);
    std::optional<LaunchCommand> launch = launch_command(words);
    if (!launch) continue;
    out.all.push_back(std::move(*launch));
    out.environments.push_back(command.environment);
  }
  return out;
}

[[noreturn]] void fail_without_launch(const ImportFile& file, const ShellRun& run) {
  const Location where = run.ended.value_or(Location{file.name, 1, 1});
  const std::string why = run.ended ? "the script ends here before it starts a program of Python"
                                    : "the script starts no program of Python that is known";
  fail_input(where, why,
             run.ended ? "say what it asks for: --env NAME=VALUE, or its parameters, --arg WORD"
                       : "give the script that has the command of torchrun, deepspeed, srun or python");
}

// The launch that --launch names, else the first whose program a reader knows.
std::size_t chosen(const Launches& launches, const ImportContext& context, const ImportFile& file) {
  if (context.launch) {
    const auto number = static_cast<std::size_t>(std::max(0, *context.launch));
    if (number < 1 || number > launches.all.size())
      fail_input({file.name, 1, 1},
                 fmt::format("--launch {}: the script starts {} programs", number, launches.all.size()));
    return number - 1;
  }
  for (std::size_t i = 0; i < launches.all.size(); ++i) {
    if (program_of_launch(launches.all[i]) != nullptr) return i;
  }
  return 0;
}

ImportedMachine machine_of(const LaunchCommand& launch, const SlurmLines& slurm) {
  ImportedMachine out = launch.machine;
  out.parts = slurm.machine.parts;
  out.feature = slurm.machine.feature;
  out.partition = slurm.machine.partition;
  if (!out.nodes) out.nodes = slurm.machine.nodes;
  if (!out.gpus_per_node) out.gpus_per_node = slurm.machine.gpus_per_node;
  out.gpu = slurm.machine.gpu;
  if (!slurm.machine.said_by.empty()) out.said_by += (out.said_by.empty() ? "" : ", ") + slurm.machine.said_by;
  return out;
}

std::vector<Setting> settings_of_launch(const LaunchCommand& launch, const SlurmLines& slurm,
                                        const std::map<std::string, std::string>& environment) {
  std::vector<Setting> out = slurm.settings;
  for (const auto& variable : environment) {
    const std::string& name = variable.first;
    const std::string& value = variable.second;
    constexpr std::string_view prefixes[] = {"CUDA_", "NCCL_", "NVTE_", "TORCH_", "PYTORCH_", "UB_", "OMP_"};
    const bool counts = std::any_of(std::begin(prefixes), std::end(prefixes),
                                    [&](std::string_view prefix) { return name.starts_with(prefix); });
    if (!counts) continue;
    Setting setting;
    setting.name = "$" + name;
    setting.where = launch.where;
    setting.value = scalar_value(value, launch.where);
    setting.text = name + "=" + value;
    out.push_back(std::move(setting));
  }
  for (Setting& setting : settings_of_arguments(launch.arguments)) out.push_back(std::move(setting));
  return out;
}

void judge_machine_lines(ImportDraft& draft) {
  for (const Setting* setting : draft.open()) {
    if (!setting->name.starts_with("#SBATCH")) continue;
    const bool machine = setting->name == "#SBATCH --nodes" || setting->name == "#SBATCH --gres" ||
                         setting->name == "#SBATCH --gpus-per-node" || setting->name == "#SBATCH --ntasks-per-node" ||
                         setting->name == "#SBATCH --constraint" || setting->name == "#SBATCH hetjob" ||
                         setting->name == "#SBATCH packjob";
    if (machine) draft.use(*setting, "nodes and GPUs of a node");
    if (!machine) draft.leave(*setting, "where and when the job runs");
  }
}

// Files of settings that the arguments name and that stand beside the script.
void add_configurations(std::vector<ImportFile>& out, const LaunchCommand& launch, std::span<const ImportFile> files) {
  constexpr std::array<std::string_view, 4> endings = {".yaml", ".yml", ".json", ".toml"};
  for (const ArgumentWord& word : launch.arguments) {
    const fs::path path = word.text.substr(word.text.find('=') + 1);
    if (std::find(endings.begin(), endings.end(), path.extension().string()) == endings.end()) continue;
    const bool known = std::any_of(out.begin(), out.end(), [&](const ImportFile& file) {
      return fs::path(file.name).filename() == path.filename();
    });
    if (known) continue;
    if (auto found = beside(files, path.string())) out.push_back({std::move(found->first), std::move(found->second)});
  }
}

ImportDraft read_script(std::span<const ImportFile> files, const ImportContext& context) {
  const ImportFile& file = files.front();
  const SlurmLines slurm = slurm_lines(file.text, file.name);
  ShellSetup setup;
  setup.environment = slurm.environment;
  for (const auto& [name, value] : context.environment) setup.environment[name] = value;
  setup.parameters = context.parameters;
  setup.find_file = [&](const std::string& name) { return beside(files, name); };
  const ShellRun run = run_shell(file.name, file.text, setup);
  const Launches launches = launches_of(run);
  if (launches.all.empty()) fail_without_launch(file, run);
  const std::size_t which = chosen(launches, context, file);
  const LaunchCommand& launch = launches.all[which];
  const LaunchProgram* program = program_of_launch(launch);
  if (program == nullptr) {
    fail_input(launch.program_where,
               fmt::format("{}: a program whose options no reader knows", excerpt(launch.program)),
               "mirfak reads Megatron-LM's and Megatron-DeepSpeed's; give a file of its settings instead");
  }
  ImportDraft draft(settings_of_launch(launch, slurm, launches.environments[which]));
  draft.machine = machine_of(launch, slurm);
  for (const ShellNote& note : run.notes) draft.notes.push_back({note.where, note.text});
  if (launches.all.size() > 1) {
    draft.notes.push_back(
        {launch.where, fmt::format("the script starts {} programs: number {} is read, --launch N chooses another",
                                   launches.all.size(), which + 1)});
  }
  for (const ArgumentWord& word : launch.arguments) {
    if (!word.vanishes) continue;
    draft.notes.push_back(
        {word.where, fmt::format("{} is not set: nothing stands here, as in bash", fmt::join(word.missing, ", "))});
  }
  std::vector<ImportFile> written;
  for (const auto& [name, text] : run.files) written.push_back({name, text});
  for (const ImportFile& given : files.subspan(1)) written.push_back(given);
  add_configurations(written, launch, files);
  program->read(draft, launch, written, context);
  judge_machine_lines(draft);
  return draft;
}

}  // namespace

const ImportFormat kLaunchScript = {
    "launch-script",
    "a script of bash that starts a training (torchrun, deepspeed, srun, python), with its #SBATCH lines", is_script,
    read_script};

}  // namespace mirfak
