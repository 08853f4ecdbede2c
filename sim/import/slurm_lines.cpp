#include "import/slurm_lines.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace mirfak {

namespace {

struct ShortOption {
  std::string_view letter;
  std::string_view name;
};
constexpr std::array kShort = {
    ShortOption{"-N", "--nodes"},    ShortOption{"-n", "--ntasks"},        ShortOption{"-G", "--gpus"},
    ShortOption{"-J", "--job-name"}, ShortOption{"-p", "--partition"},     ShortOption{"-t", "--time"},
    ShortOption{"-o", "--output"},   ShortOption{"-c", "--cpus-per-task"}, ShortOption{"-C", "--constraint"}};

// "8", "2-4" (at least, at most), "h100:8"
std::optional<std::int64_t> last_number(std::string_view text) {
  text = text.substr(text.find_last_of(":-") + 1);
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out < 1) return std::nullopt;
  return out;
}

// The name of "gpu:h100:8" and "h100:8".
std::string gpu_name(std::string_view text) {
  if (text.starts_with("gpu:")) text.remove_prefix(4);
  const std::size_t colon = text.find(':');
  return colon == std::string_view::npos ? "" : std::string(text.substr(0, colon));
}

bool starts_component(const std::string& name) { return name == "#SBATCH hetjob" || name == "#SBATCH packjob"; }

// What a line says of the nodes of its component; whether it did.
bool take_nodes(ImportedNodes& nodes, const std::string& name, const std::string& value) {
  if (name == "--nodes") {
    nodes.nodes = last_number(value);
    return true;
  }
  if (name == "--gpus-per-node" || (name == "--gres" && value.starts_with("gpu"))) {
    nodes.gpus_per_node = last_number(value);
    nodes.gpu = gpu_name(value);
    return true;
  }
  if (name == "--partition") nodes.partition = value;
  if (name != "--constraint") return false;
  nodes.feature = value;
  return true;
}

void set_environment(std::map<std::string, std::string>& environment, const std::string& name,
                     const std::string& value) {
  const std::optional<std::int64_t> number = last_number(value);
  const auto set = [&](const char* variable) { environment[variable] = std::to_string(*number); };
  if (name == "--nodes" && number) {
    set("SLURM_NNODES");
    set("SLURM_JOB_NUM_NODES");
  }
  if (name == "--gpus-per-node" && number) set("SLURM_GPUS_PER_NODE");
  if ((name == "--gpus-per-node" || (name == "--gres" && value.starts_with("gpu"))) && number)
    set("SLURM_GPUS_ON_NODE");
  if (name == "--ntasks-per-node" && number) environment["SLURM_NTASKS_PER_NODE"] = value;
  if (name == "--cpus-per-task" && number) environment["SLURM_CPUS_PER_TASK"] = value;
  if (name == "--job-name") environment["SLURM_JOB_NAME"] = value;
}

// Components of a heterogeneous job: what holds for one of them is not said of the others.
void take_line(SlurmLines& out, std::vector<ImportedNodes>& parts, const Setting& setting) {
  if (starts_component(setting.name)) return parts.push_back({});
  const std::string name = setting.name.substr(std::string_view("#SBATCH ").size());
  if (take_nodes(parts.back(), name, setting.value.scalar)) {
    out.machine.said_by += (out.machine.said_by.empty() ? "" : ", ") + setting.text;
  }
  set_environment(out.environment, name, setting.value.scalar);
}

void leave_out_counts(std::map<std::string, std::string>& environment) {
  for (const char* name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE",
                           "SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK"}) {
    environment.erase(name);
  }
}

}  // namespace

SlurmLines slurm_lines(const std::string& text, const std::string& name) {
  SlurmLines out;
  std::vector<ImportedNodes> parts(1);
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    ++number;
    if (!line.starts_with("#SBATCH")) continue;
    line = trimmed(line.substr(7, line.find(" #", 7) - 7), " \t\r");
    if (!line.starts_with('-') && line != "hetjob" && line != "packjob") continue;
    const std::size_t cut = line.find_first_of("= \t");
    std::string option(line.substr(0, cut));
    const auto* const letter =
        std::find_if(kShort.begin(), kShort.end(), [&](const ShortOption& one) { return one.letter == option; });
    if (letter != kShort.end()) option = letter->name;
    Setting setting;
    setting.where = {name, number, 1};
    setting.name = "#SBATCH " + option;
    setting.text = "#SBATCH " + std::string(line);
    const std::string_view value =
        cut == std::string_view::npos ? std::string_view{} : trimmed(line.substr(cut + 1), " \t=\"");
    setting.value = scalar_value(value, setting.where);
    take_line(out, parts, setting);
    out.settings.push_back(std::move(setting));
  }
  if (parts.size() > 1) {
    out.machine.parts = std::move(parts);
    leave_out_counts(out.environment);
    return out;
  }
  static_cast<ImportedNodes&>(out.machine) = parts.front();
  const auto tasks = out.environment.find("SLURM_NTASKS_PER_NODE");
  if (tasks != out.environment.end() && out.machine.nodes)
    out.environment["SLURM_NTASKS"] = std::to_string(*out.machine.nodes * last_number(tasks->second).value_or(1));
  return out;
}

}  // namespace mirfak
