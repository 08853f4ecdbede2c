#include "import/slurm_lines.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace mirfak {

namespace {

struct ShortOption {
  std::string_view letter;
  std::string_view name;
};
constexpr std::array kShort = {ShortOption{"-N", "--nodes"},     ShortOption{"-n", "--ntasks"},
                               ShortOption{"-G", "--gpus"},      ShortOption{"-J", "--job-name"},
                               ShortOption{"-p", "--partition"}, ShortOption{"-t", "--time"},
                               ShortOption{"-o", "--output"},    ShortOption{"-c", "--cpus-per-task"}};

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

void take_line(SlurmLines& out, const Setting& setting) {
  const std::string& value = setting.value.scalar;
  const std::string name = setting.name.substr(setting.name.find("--"));
  const auto say = [&] { out.machine.said_by += (out.machine.said_by.empty() ? "" : ", ") + setting.text; };
  if (name == "--nodes") {
    out.machine.nodes = last_number(value);
    say();
    for (const char* variable : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}) {
      if (out.machine.nodes) out.environment[variable] = std::to_string(*out.machine.nodes);
    }
  }
  const bool gres = (name == "--gres" || name == "--gpus-per-node") && (name != "--gres" || value.starts_with("gpu"));
  if (gres) {
    out.machine.gpus_per_node = last_number(value);
    out.machine.gpu = gpu_name(value);
    say();
    if (out.machine.gpus_per_node) out.environment["SLURM_GPUS_ON_NODE"] = std::to_string(*out.machine.gpus_per_node);
    if (out.machine.gpus_per_node && name != "--gres")
      out.environment["SLURM_GPUS_PER_NODE"] = std::to_string(*out.machine.gpus_per_node);
  }
  if (name == "--ntasks-per-node" && last_number(value)) out.environment["SLURM_NTASKS_PER_NODE"] = value;
  if (name == "--cpus-per-task" && last_number(value)) out.environment["SLURM_CPUS_PER_TASK"] = value;
  if (name == "--job-name") out.environment["SLURM_JOB_NAME"] = value;
}

}  // namespace

SlurmLines slurm_lines(const std::string& text, const std::string& name) {
  SlurmLines out;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    ++number;
    if (!line.starts_with("#SBATCH")) continue;
    line = trimmed(line.substr(7, line.find(" #", 7) - 7), " \t\r");
    if (!line.starts_with('-')) continue;
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
    take_line(out, setting);
    out.settings.push_back(std::move(setting));
  }
  const auto tasks = out.environment.find("SLURM_NTASKS_PER_NODE");
  if (tasks != out.environment.end() && out.machine.nodes)
    out.environment["SLURM_NTASKS"] = std::to_string(*out.machine.nodes * last_number(tasks->second).value_or(1));
  return out;
}

}  // namespace mirfak
