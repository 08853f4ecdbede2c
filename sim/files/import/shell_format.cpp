#include "import/import_formats.hpp"

#include "base/text.hpp"
#include "import/file_beside.hpp"
#include "import/launch_command.hpp"
#include "import/launch_programs.hpp"
#include "import/launcher_options.hpp"
#include "import/megatron_settings.hpp"
#include "import/program_identity.hpp"
#include "import/script_launch.hpp"
#include "import/shell_script.hpp"
#include "import/slurm_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
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

// Finds the commands of a run that start a program of Python.
void find_launches(ScriptLaunch& script, const ScenarioSources& sources) {
  const KnownPrograms known(sources);
  for (std::size_t i = 0; i < script.run.commands.size(); ++i) {
    const ShellCommand& command = script.run.commands[i];
    std::optional<LaunchCommand> launch = known.command_by_name(command.words);
    if (!launch) launch = launch_command(command.words);
    if (!launch) continue;
    // A program whose output is captured is a training if a reader knows its options.
    if (command.captured && program_of_launch(*launch, sources) == nullptr) continue;
    script.launches.push_back(std::move(*launch));
    script.commands.push_back(i);
  }
}

// Returns the missing files that the script reads, as a part of a sentence.
std::string absent_files(const ShellRun& run) {
  std::string out;
  constexpr std::size_t most = 3;
  for (std::size_t i = 0; i < std::min(most, run.absent.size()); ++i)
    out += fmt::format("; {}, which it reads at {}, is not here", run.absent[i].text, run.absent[i].where.text());
  return out;
}

[[noreturn]] void fail_without_launch(const ImportFile& file, const ShellRun& run) {
  const Location where = run.ended.value_or(Location{file.name, 1, 1});
  const std::string why = run.ended ? "the script ends here before it starts a program of Python"
                                    : "the script starts no program of Python that is known";
  fail_input(where, why + absent_files(run),
             run.ended ? "say what it asks for: --env NAME=VALUE, or its parameters, --arg WORD"
                       : "give the script that has the command of torchrun, deepspeed, srun or python");
}

// Returns the launch that --launch names, else the first launch whose program a reader knows.
std::size_t chosen(const std::vector<LaunchCommand>& launches, const ImportContext& context, const ImportFile& file) {
  if (context.launch) {
    const auto number = static_cast<std::size_t>(std::max(0, *context.launch));
    if (number < 1 || number > launches.size())
      fail_input({file.name, 1, 1}, fmt::format("--launch {}: the script starts {} programs", number, launches.size()));
    return number - 1;
  }
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (program_of_launch(launches[i], context.sources) != nullptr) return i;
  }
  return 0;
}

// Fails for a launch whose program no reader knows: another program was identified, or the options may come from
// missing files.
[[noreturn]] void fail_at_program(const LaunchCommand& launch, const ShellRun& run, const ScenarioSources& sources) {
  std::vector<std::string> missing;
  for (const ArgumentWord& word : launch.arguments) {
    for (const std::string& name : word.missing) {
      if (std::find(missing.begin(), missing.end(), name) == missing.end()) missing.push_back(name);
    }
  }
  const std::optional<ProgramIdentity> known = KnownPrograms(sources).of_launch(launch);
  const bool another = known && !known->reason.empty();
  if (another || (missing.empty() && run.absent.empty())) refuse_launch(launch, sources);
  const std::string why = missing.empty()
                              ? "its options are not known"
                              : fmt::format("its options hang on {}, which nobody sets", fmt::join(missing, ", "));
  const bool variable = !missing.empty() && std::none_of(missing.begin(), missing.end(), [](const std::string& name) {
    return name.starts_with("$(");
  });
  fail_input(
      launch.program_where, fmt::format("{}: {}{}", excerpt(launch.program), why, absent_files(run)),
      (run.absent.empty() ? std::string("say its options") : std::string("give that file together with the script")) +
          (variable ? ", or " + way_to_state(missing) : ""));
}

// Returns the machine of a launch: statements of the launch take precedence over those of the job. A program that srun
// starts itself runs once per task.
ImportedMachine machine_of(const LaunchCommand& launch, const SlurmLines& slurm) {
  ImportedMachine out = launch.machine;
  const ImportedMachine& job = launch.tasks_are_processes ? slurm.of_tasks : slurm.machine;
  out.parts = job.parts;
  if (out.feature.empty()) out.feature = job.feature;
  if (out.partition.empty()) out.partition = job.partition;
  if (!out.nodes) out.nodes = job.nodes;
  if (!out.gpus_per_node) out.gpus_per_node = job.gpus_per_node;
  if (out.gpu.empty()) out.gpu = job.gpu;
  if (!job.said_by.empty()) out.said_by += (out.said_by.empty() ? "" : ", ") + job.said_by;
  return out;
}

std::vector<Setting> settings_of_launch(const LaunchCommand& launch, const SlurmLines& slurm,
                                        const std::map<std::string, ShellExport>& environment) {
  std::vector<Setting> out = slurm.settings;
  for (const auto& variable : environment) {
    const std::string& name = variable.first;
    const std::string& value = variable.second.value;
    constexpr std::string_view prefixes[] = {"CUDA_", "NCCL_", "NVTE_", "TORCH_", "PYTORCH_", "UB_", "OMP_"};
    const bool counts = std::any_of(std::begin(prefixes), std::end(prefixes),
                                    [&](std::string_view prefix) { return name.starts_with(prefix); });
    // Programs that start their processes themselves read how many.
    const bool processes = launch.starts_itself() && (name == "NPROC_PER_NODE" || name == "NNODES");
    if (!counts && !processes) continue;
    Setting setting;
    setting.name = "$" + name;
    setting.where = variable.second.where.known() ? variable.second.where : launch.where;
    setting.value = scalar_value(value, setting.where);
    setting.text = name + "=" + value;
    out.push_back(std::move(setting));
  }
  for (Setting& setting : settings_of_arguments(launch.arguments)) out.push_back(std::move(setting));
  return out;
}

void judge_machine_lines(ImportDraft& draft) {
  for (const Setting* setting : draft.open()) {
    if (!setting->name.starts_with("#SBATCH")) continue;
    constexpr std::array<std::string_view, 12> names = {
        "#SBATCH --nodes",           "#SBATCH --gres",          "#SBATCH --gpus",
        "#SBATCH --gpus-per-node",   "#SBATCH --gpus-per-task", "#SBATCH --ntasks",
        "#SBATCH --ntasks-per-node", "#SBATCH --tres-per-node", "#SBATCH --tres-per-task",
        "#SBATCH --constraint",      "#SBATCH hetjob",          "#SBATCH packjob"};
    const bool machine = std::find(names.begin(), names.end(), setting->name) != names.end();
    if (machine) draft.use(*setting, "nodes and GPUs of a node");
    if (!machine) draft.leave(*setting, "where and when the job runs");
  }
}

// Adds files of settings that the arguments name and that exist next to the script.
void add_configurations(std::vector<ImportFile>& out, const LaunchCommand& launch, std::span<const ImportFile> files) {
  constexpr std::array<std::string_view, 4> endings = {".yaml", ".yml", ".json", ".toml"};
  for (const ArgumentWord& word : launch.arguments) {
    const fs::path path = word.text.substr(word.text.find('=') + 1);
    if (std::find(endings.begin(), endings.end(), path.extension().string()) == endings.end()) continue;
    if (file_named(out, path.string()) != nullptr) continue;
    if (auto found = file_beside(files, path.string(), files.front().name))
      out.push_back({std::move(found->name), std::move(found->text)});
  }
  for (const std::string& name : files_of_launcher(launch)) {
    if (auto found = file_beside(files, name, files.front().name))
      out.push_back({std::move(found->name), std::move(found->text)});
  }
}

ScriptLaunch launch_of(std::span<const ImportFile> files, const ImportContext& context, const SlurmLines& slurm) {
  const ImportFile& file = files.front();
  ShellSetup setup;
  setup.environment = slurm.environment;
  for (const auto& [name, value] : context.environment) setup.environment[name] = value;
  setup.parameters = context.parameters;
  setup.programs = read_shell_programs(context.sources.catalog.folder());
  setup.find_file = [&](const std::string& name) { return file_beside(files, name, files.front().name); };
  ScriptLaunch out;
  out.run = run_shell(file.name, file.text, setup);
  find_launches(out, context.sources);
  if (out.launches.empty()) fail_without_launch(file, out.run);
  out.chosen = chosen(out.launches, context, file);
  out.program = program_of_launch(out.launch(), context.sources);
  if (out.program == nullptr) fail_at_program(out.launch(), out.run, context.sources);
  return out;
}

ImportDraft read_script(std::span<const ImportFile> files, const ImportContext& context) {
  const ImportFile& file = files.front();
  const SlurmLines slurm = slurm_lines(file.text, file.name);
  ScriptLaunch script = launch_of(files, context, slurm);
  const ShellRun& run = script.run;
  LaunchCommand& launch = script.launch();
  std::vector<ImportFile> written;
  for (const auto& [name, text] : run.files) written.push_back({name, text});
  for (const ImportFile& given : files.subspan(1)) written.push_back(given);
  add_configurations(written, launch, files);
  ImportDraft draft(settings_of_launch(launch, slurm, script.command().environment));
  draft.notes = slurm.notes;
  read_launcher_machine(launch, written, draft.notes);
  draft.machine = machine_of(launch, slurm);
  draft.notes.insert(draft.notes.end(), launch.notes.begin(), launch.notes.end());
  for (const ShellNote& note : run.notes) draft.notes.push_back({note.where, note.text});
  if (script.launches.size() > 1) {
    draft.notes.push_back(
        {launch.where, fmt::format("the script starts {} programs: number {} is read, --launch N chooses another",
                                   script.launches.size(), script.chosen + 1)});
  }
  for (const ArgumentWord& word : launch.arguments) {
    if (!word.vanishes) continue;
    draft.notes.push_back(
        {word.where, fmt::format("{} is not set: nothing stands here, as in bash", fmt::join(word.missing, ", "))});
  }
  read_launch(*script.program, draft, launch, written, context);
  judge_machine_lines(draft);
  return draft;
}

}  // namespace

ScriptLaunch script_launch(std::span<const ImportFile> files, const ImportContext& context) {
  return launch_of(files, context, slurm_lines(files.front().text, files.front().name));
}

const ImportFormat kLaunchScript = {
    "launch-script",
    "a script of bash that starts a training (torchrun, deepspeed, srun, python), with its #SBATCH lines", is_script,
    read_script};

}  // namespace mirfak
