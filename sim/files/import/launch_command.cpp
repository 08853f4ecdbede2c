#include "import/launch_command.hpp"

#include "import/megatron_settings.hpp"
#include "import/slurm_options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace mirfak {

namespace {

constexpr std::array<std::string_view, 5> kLauncherModules = {"torch.distributed.launch", "torch.distributed.run",
                                                              "accelerate.commands.launch", "deepspeed.launcher.runner",
                                                              "nvidia_resiliency_ext.fault_tolerance.launcher"};
constexpr std::array<std::string_view, 6> kLaunchers = {"torchrun",    "deepspeed", "accelerate",
                                                        "ft_launcher", "python",    "colossalai"};

bool is_python(std::string_view name) {
  return name == "python" || name == "python3" || name == "pythonx" ||
         (name.starts_with("python3.") && name.size() <= 11);
}

template <typename Names>
bool among(const Names& names, std::string_view word) {
  return std::find(names.begin(), names.end(), word) != names.end();
}

// Returns the number of "8", "4:8" (from, to) or "H100:8": the last number.
std::optional<std::int64_t> number_in(std::string_view text) {
  text = text.substr(text.rfind(':') + 1);
  std::int64_t out = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc{} || behind != end || out < 1 || out > 10'000'000) return std::nullopt;
  return out;
}

struct LauncherOption {
  std::string_view name;
  std::optional<std::int64_t> ImportedMachine::*into;
};
constexpr std::array kOptions = {LauncherOption{"--nnodes", &ImportedMachine::nodes},
                                 LauncherOption{"--num-nodes", &ImportedMachine::nodes},
                                 LauncherOption{"--num-machines", &ImportedMachine::nodes},
                                 LauncherOption{"--nproc-per-node", &ImportedMachine::gpus_per_node},
                                 LauncherOption{"--num-gpus", &ImportedMachine::gpus_per_node},
                                 LauncherOption{"--gpus-per-node", &ImportedMachine::gpus_per_node}};

constexpr std::array<std::string_view, 3> kSlurmStarters = {"srun", "sbatch", "salloc"};
constexpr std::array<std::string_view, 5> kMpiStarters = {"mpirun", "mpiexec", "orterun", "prun", "mpiexec.hydra"};

void add_said(ImportedMachine& machine, const std::string& said) {
  machine.said_by += (machine.said_by.empty() ? "" : " ") + said;
}

// Reads options of srun and similar programs at the start of `words`; returns the number of words that they take.
std::size_t read_slurm(std::span<const ArgumentWord> words, LaunchCommand& out) {
  std::size_t next = 0;
  SlurmRequest request;
  for (const SlurmOption& option : slurm_options(words, next)) request.take(option);
  const ImportedNodes found = request.nodes(out.tasks_are_processes);
  if (found.nodes) out.machine.nodes = found.nodes;
  if (found.gpus_per_node) out.machine.gpus_per_node = found.gpus_per_node;
  if (!found.gpu.empty()) out.machine.gpu = found.gpu;
  if (!found.feature.empty()) out.machine.feature = found.feature;
  if (!found.partition.empty()) out.machine.partition = found.partition;
  if (!request.said_by.empty()) add_said(out.machine, request.said_by);
  out.notes.insert(out.notes.end(), request.notes.begin(), request.notes.end());
  return next;
}

// Reads the processes in total and per node if mpirun starts each of them itself: -np 16 -N 8, --map-by ppr:8:node.
void read_mpi(std::span<const ArgumentWord> words, LaunchCommand& out) {
  std::optional<std::int64_t> all;
  std::optional<std::int64_t> of_node;
  std::string said;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i].text;
    std::string_view value = words[i + 1].text;
    if (word == "-np" || word == "-n" || word == "--np" || word == "-c") {
      all = number_in(value);
    } else if (word == "-N" || word == "-npernode" || word == "--npernode" || word == "-ppn" || word == "--ppn") {
      of_node = number_in(value);
    } else if ((word == "--map-by" || word == "-map-by") && value.starts_with("ppr:")) {
      value.remove_prefix(4);
      if (value.substr(value.find(':') + 1).starts_with("node")) of_node = number_in(value.substr(0, value.find(':')));
    } else {
      continue;
    }
    said += (said.empty() ? "" : " ") + word + " " + words[i + 1].text;
  }
  if (!out.tasks_are_processes || !of_node) return;
  out.machine.gpus_per_node = of_node;
  if (all && *all % *of_node == 0) out.machine.nodes = *all / *of_node;
  add_said(out.machine, said);
}

void read_machine(std::span<const ArgumentWord> words, LaunchCommand& out) {
  ImportedMachine& machine = out.machine;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    if (among(kSlurmStarters, base_name(word))) {
      i += read_slurm(words.subspan(i + 1), out);
      continue;
    }
    if (among(kMpiStarters, base_name(word))) read_mpi(words.subspan(i + 1), out);
    if (!word.starts_with('-')) continue;
    const std::size_t equals = word.find('=');
    const bool inside = equals != std::string::npos;
    const std::string name =
        word.starts_with("--") ? megatron_option_name(word.substr(0, equals)) : word.substr(0, equals);
    const auto* const option =
        std::find_if(kOptions.begin(), kOptions.end(), [&](const LauncherOption& one) { return one.name == name; });
    if (option == kOptions.end() || (!inside && i + 1 == words.size())) continue;
    const auto number =
        number_in(inside ? std::string_view(word).substr(equals + 1) : std::string_view(words[i + 1].text));
    if (!number) continue;
    machine.*(option->into) = number;
    add_said(machine, word + (inside ? "" : " " + words[i + 1].text));
  }
}

// Completes the machine: deepspeed and torchrun start on a single node if no count is given; a plain python process has
// one GPU.
void complete_machine(LaunchCommand& out, std::span<const ArgumentWord> launcher) {
  // A stated count with an unknown value is not the default.
  const bool said = std::any_of(launcher.begin(), launcher.end(), [](const ArgumentWord& word) {
    const std::string name = word.text.substr(0, word.text.find('='));
    return name == "--nnodes" || name == "--num_nodes" || name == "--num-nodes";
  });
  if (out.machine.gpus_per_node && !out.machine.nodes && !said && out.launcher != "python") {
    out.machine.nodes = 1;
    out.machine.said_by += ", one node by default";
  }
}

// Returns the place of "--" after which a program leaves the rest to a launcher: submit.py --gpus 8 -- accelerate
// launch.
std::optional<std::size_t> hand_over(std::span<const ArgumentWord> words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string next = base_name(words[i + 1].text);
    if (words[i].text == "--" && (is_python(next) || among(kLaunchers, next))) return i;
  }
  return std::nullopt;
}

// Returns the command behind a program that submits it. What the program itself says of nodes and GPUs counts where
// the command says nothing.
std::optional<LaunchCommand> submitted_command(std::span<const ArgumentWord> by, std::span<const ArgumentWord> words) {
  std::optional<LaunchCommand> out = launch_command(words);
  if (!out) return out;
  LaunchCommand submits;
  read_machine(by, submits);
  ImportedMachine& machine = out->machine;
  if (submits.machine.nodes) machine.nodes = submits.machine.nodes;
  if (!machine.gpus_per_node) machine.gpus_per_node = submits.machine.gpus_per_node;
  if (!submits.machine.said_by.empty()) add_said(machine, submits.machine.said_by);
  out->notes.push_back({by.front().where, "a program that is taken to start what stands after --"});
  return out;
}

}  // namespace

bool LaunchCommand::starts_itself() const {
  return !launcher.empty() && (program == launcher || program.starts_with(launcher + " "));
}

std::optional<LaunchCommand> launch_command(std::span<const ArgumentWord> words) {
  LaunchCommand out;
  std::size_t program = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = base_name(words[i].text);
    if (out.launcher.empty() || is_python(name)) {
      if (is_python(name)) out.launcher = "python";
      if (among(kLaunchers, name)) out.launcher = name;
      continue;
    }
    if (words[i].text == "-c") return std::nullopt;  // Python code as a text
    const bool module = (words[i].text == "-m" || words[i].text == "--module") && i + 1 < words.size();
    if (module && among(kLauncherModules, words[i + 1].text)) {
      out.launcher = words[++i].text;
    } else if (module || name.ends_with(".py")) {
      program = module ? i + 1 : i;
      break;
    }
  }
  if (program == 0) return std::nullopt;
  if (const auto from = hand_over(words.subspan(program))) {
    if (auto inside = submitted_command(words.first(program + *from), words.subspan(program + *from + 1)))
      return inside;
  }
  out.where = words.front().where;
  out.tasks_are_processes = out.launcher == "python";
  read_machine(words.first(program), out);
  complete_machine(out, words.first(program));
  out.program = base_name(words[program].text);
  out.program_path = words[program].text;
  out.launcher_words.assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(program));
  out.program_where = words[program].where;
  out.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(program) + 1, words.end());
  return out;
}

LaunchCommand machine_of(std::span<const ArgumentWord> options, LaunchCommand command) {
  read_machine(options, command);
  complete_machine(command, options);
  return command;
}

}  // namespace mirfak
