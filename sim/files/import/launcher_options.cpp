// accelerate launch: commands/launch.py (options come before what its file says). deepspeed: launcher/runner.py
// (--include worker-0:0,1@worker-1, hostfiles of "host slots=8"). mpirun of Open MPI: -np, -N or --npernode,
// --map-by ppr:8:node, -H host:8; of MPICH -ppn; srun: -n, --ntasks, --ntasks-per-node.

#include "import/launcher_options.hpp"

#include "base/text.hpp"
#include "import/accelerate.hpp"
#include "import/number_words.hpp"
#include "import/option_words.hpp"
#include "import/program_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace mirfak {

namespace {

constexpr std::int64_t kMostTasks = 10'000'000;

std::optional<std::int64_t> whole_count(std::string_view text) {
  const std::optional<std::int64_t> out = whole_number_of(text);
  return out && *out >= 1 && *out <= kMostTasks ? out : std::nullopt;
}

// Returns the words of one launcher: from its name to the next launcher or the program.
std::vector<ArgumentWord> words_of_launcher(const LaunchCommand& launch,
                                            std::initializer_list<std::string_view> names) {
  std::vector<ArgumentWord> out;
  bool inside = false;
  for (const ArgumentWord& word : launch.launcher_words) {
    const std::string name = base_name(word.text);
    const bool begins = std::find(names.begin(), names.end(), name) != names.end();
    const bool ends =
        inside && (name == "torchrun" || name == "deepspeed" || name == "accelerate" || name.starts_with("python"));
    if (begins) out.clear();
    inside = begins || (inside && !ends);
    if (inside && !begins) out.push_back(word);
  }
  return out;
}

// Returns the value of the last option with one of these names: "--name 8", "--name=8", "-n8" for names of one letter.
const ArgumentWord* option_value(const std::vector<ArgumentWord>& words, std::initializer_list<std::string_view> names,
                                 ArgumentWord& storage) {
  const ArgumentWord* out = nullptr;
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const std::string_view name : names) {
      const std::string& text = words[i].text;
      if (!text.starts_with(name)) continue;
      const std::string_view rest = std::string_view(text).substr(name.size());
      if (rest.empty()) {
        if (i + 1 < words.size()) out = &words[i + 1];
      } else if (rest.front() == '=' || (name.size() == 2 && name[1] != '-' && whole_count(rest))) {
        storage = words[i];
        storage.text = rest.front() == '=' ? rest.substr(1) : rest;
        out = &storage;
      }
    }
  }
  return out;
}

std::optional<std::int64_t> option_count(const std::vector<ArgumentWord>& words,
                                         std::initializer_list<std::string_view> names) {
  ArgumentWord storage;
  const ArgumentWord* value = option_value(words, names, storage);
  return value == nullptr ? std::nullopt : whole_count(value->text);
}

// Returns the 8 of ppr:8:node in --map-by.
std::optional<std::int64_t> mapped_to_node(const std::vector<ArgumentWord>& words) {
  ArgumentWord storage;
  const ArgumentWord* value = option_value(words, {"--map-by", "-map-by"}, storage);
  if (value == nullptr || !value->text.starts_with("ppr:")) return std::nullopt;
  const std::size_t colon = value->text.find(':', 4);
  if (colon == std::string::npos || !value->text.substr(colon + 1).starts_with("node")) return std::nullopt;
  return whole_count(std::string_view(value->text).substr(4, colon - 4));
}

// Reads the tasks of srun and mpirun; each task is a rank if no other launcher starts processes after them.
void read_tasks(LaunchCommand& launch) {
  if ((launch.launcher != "python" && !launch.launcher.empty()) || launch.machine.gpus()) return;
  const std::vector<ArgumentWord> of_srun = words_of_launcher(launch, {"srun"});
  const std::vector<ArgumentWord> of_mpi = words_of_launcher(launch, {"mpirun", "mpiexec", "orterun"});
  std::optional<std::int64_t> tasks = option_count(of_srun, {"--ntasks", "-n"});
  std::optional<std::int64_t> each = option_count(of_srun, {"--ntasks-per-node", "--tasks-per-node"});
  if (!of_mpi.empty()) {
    tasks = option_count(of_mpi, {"-np", "--np", "-n", "--n"});
    each = option_count(of_mpi, {"--npernode", "-npernode", "-N", "-ppn", "--ppn", "-perhost"});
    if (!each) each = mapped_to_node(of_mpi);
    launch.machine.nodes.reset();  // -N counts processes here
  }
  ImportedMachine& machine = launch.machine;
  if (each && !machine.gpus_per_node) machine.gpus_per_node = each;
  if (tasks && machine.gpus_per_node && !machine.nodes && *tasks % *machine.gpus_per_node == 0)
    machine.nodes = *tasks / *machine.gpus_per_node;
  if (tasks && machine.nodes && !machine.gpus_per_node && *tasks % *machine.nodes == 0)
    machine.gpus_per_node = *tasks / *machine.nodes;
  if (!tasks && !each) return;
  const std::string said = (tasks ? fmt::format("{} tasks", *tasks) : "") + (tasks && each ? ", " : "") +
                           (each ? fmt::format("{} of a node", *each) : "");
  machine.said_by += (machine.said_by.empty() ? "" : ", ") + said;
}

struct Hosts {
  std::int64_t hosts = 0;
  std::optional<std::int64_t> slots;  // slots per host; none: the hosts differ
};

// Reads lines of "worker-0 slots=8".
std::optional<Hosts> hosts_of_file(const ImportFile& file) {
  Hosts out;
  for (std::size_t at = 0; at < file.text.size();) {
    const std::size_t end = std::min(file.text.find('\n', at), file.text.size());
    const std::string_view line = trimmed(std::string_view(file.text).substr(at, end - at));
    at = end + 1;
    if (line.empty() || line.front() == '#') continue;
    const std::size_t slots = line.find("slots=");
    if (slots == std::string_view::npos) return std::nullopt;
    const std::string_view digits = trimmed(line.substr(slots + 6));
    const auto count = whole_count(digits.substr(0, digits.find_first_not_of("0123456789")));
    if (!count) return std::nullopt;
    if (out.hosts == 0) out.slots = count;
    if (out.slots && *out.slots != *count) out.slots.reset();
    ++out.hosts;
  }
  return out.hosts == 0 ? std::nullopt : std::optional(out);
}

// Reads worker-0:0,1,2,3@worker-1:0,1,2,3; a host without a list has all of its GPUs.
std::optional<Hosts> hosts_included(std::string_view text) {
  Hosts out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('@'), text.size());
    const std::string_view host = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = host.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto count = 1 + std::count(host.begin() + static_cast<std::ptrdiff_t>(colon), host.end(), ',');
    if (out.hosts == 0) out.slots = count;
    if (out.slots && *out.slots != count) out.slots.reset();
    ++out.hosts;
  }
  return out.hosts == 0 ? std::nullopt : std::optional(out);
}

void take_hosts(LaunchCommand& launch, const std::optional<Hosts>& hosts, const ArgumentWord& option,
                std::vector<ImportObstacle>& notes) {
  ImportedMachine& machine = launch.machine;
  if (!hosts || !hosts->slots) {
    notes.push_back(
        {option.where, fmt::format("{}: how many GPUs of how many nodes these are is not known here: say --nodes",
                                   excerpt(option.text))});
    return;
  }
  // --num_nodes and --num_gpus take that many of these hosts and GPUs.
  const bool all_nodes = !machine.nodes || machine.said_by.ends_with("one node by default");
  if (all_nodes) machine.nodes = hosts->hosts;
  if (!machine.gpus_per_node) machine.gpus_per_node = hosts->slots;
  machine.said_by = fmt::format("{} hosts of {} slots ({})", hosts->hosts, *hosts->slots, excerpt(option.text));
}

void read_deepspeed_hosts(LaunchCommand& launch, std::span<const ImportFile> files,
                          std::vector<ImportObstacle>& notes) {
  const std::vector<ArgumentWord> words = words_of_launcher(launch, {"deepspeed", "deepspeed.launcher.runner"});
  ArgumentWord storage;
  if (const ArgumentWord* included = option_value(words, {"--include", "-i"}, storage)) {
    return take_hosts(launch, hosts_included(included->text), *included, notes);
  }
  const ArgumentWord* hostfile = option_value(words, {"--hostfile", "-H"}, storage);
  if (hostfile == nullptr) return;
  const ImportFile* found = file_named(files, hostfile->text);
  const bool said = launch.machine.gpus().has_value() && !launch.machine.said_by.ends_with("by default");
  if (found == nullptr && said) return;
  take_hosts(launch, found == nullptr ? std::nullopt : hosts_of_file(*found), *hostfile, notes);
}

// Refuses counts that are no numbers, instead of skipping them; counts of an elastic launch are from and to.
void check_counts(const LaunchCommand& launch, std::vector<ImportObstacle>& notes) {
  const std::vector<ArgumentWord> words = words_of_launcher(
      launch, {"torchrun", "deepspeed", "ft_launcher", "torch.distributed.launch", "torch.distributed.run"});
  for (const std::string_view name :
       {"--nnodes", "--nproc_per_node", "--nproc-per-node", "--num_gpus", "--num_nodes"}) {
    ArgumentWord storage;
    const ArgumentWord* value = option_value(words, {name}, storage);
    if (value == nullptr || !value->missing.empty() || value->text.empty() || whole_count(value->text)) continue;
    const std::string& text = value->text;
    if (text == "auto" || text == "gpu" || text == "cpu" || text == "xpu" || text == "-1") continue;
    const std::size_t colon = text.find(':');
    const bool range =
        colon != std::string::npos && whole_count(text.substr(0, colon)) && whole_count(text.substr(colon + 1));
    if (!range) fail_input(value->where, fmt::format("{}: expected a number from 1, found '{}'", name, excerpt(text)));
    notes.push_back({value->where, fmt::format("{} {}: the larger number is taken", name, text)});
  }
}

// Returns the options of accelerate launch, in their order. Flags of one dash and -m belong to the launcher alone.
std::vector<ArgumentWord> accelerate_words(const LaunchCommand& launch) {
  std::vector<ArgumentWord> out = words_of_launcher(launch, {"accelerate", "accelerate.commands.launch"});
  std::erase_if(out, [](const ArgumentWord& word) {
    return word.text == "launch" || (word.text.starts_with('-') && !word.text.starts_with("--"));
  });
  return out;
}

}  // namespace

std::vector<Setting> launcher_settings(const LaunchCommand& launch, const ScenarioSources& sources) {
  const std::vector<ArgumentWord> words = accelerate_words(launch);
  if (words.empty()) return {};
  const ProgramFacts facts(sources, "accelerate");
  std::vector<Setting> out = settings_of_python(words);
  facts.rename(out);
  for (Setting& setting : out) {
    const Value* type = facts.section("distributed_types").find(setting.name);
    if (type != nullptr && setting.value.scalar == "true") {
      setting.name = "distributed_type";
      setting.value.scalar = type->scalar;
    }
    setting.name.insert(0, setting.missing.empty() ? kAcceleratePrefix : kUnset);
  }
  return out;
}

void read_launcher_machine(LaunchCommand& launch, std::span<const ImportFile> files,
                           std::vector<ImportObstacle>& notes) {
  check_counts(launch, notes);
  read_tasks(launch);
  read_deepspeed_hosts(launch, files, notes);
}

std::vector<std::string> files_of_launcher(const LaunchCommand& launch) {
  std::vector<std::string> out;
  ArgumentWord storage;
  const auto add = [&](const std::vector<ArgumentWord>& words, std::initializer_list<std::string_view> names) {
    if (const ArgumentWord* value = option_value(words, names, storage)) out.push_back(value->text);
  };
  add(words_of_launcher(launch, {"accelerate", "accelerate.commands.launch"}), {"--config_file", "--config-file"});
  add(words_of_launcher(launch, {"accelerate", "accelerate.commands.launch"}), {"--deepspeed_config_file"});
  add(words_of_launcher(launch, {"deepspeed", "deepspeed.launcher.runner"}), {"--hostfile", "-H"});
  return out;
}

}  // namespace mirfak
