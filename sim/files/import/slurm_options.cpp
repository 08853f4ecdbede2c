#include "import/slurm_options.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace mirfak {

namespace {

struct LetterOption {
  char letter;
  std::string_view name;
};
constexpr std::array kSlurmLetters = {LetterOption{'N', "--nodes"},
                                      LetterOption{'n', "--ntasks"},
                                      LetterOption{'G', "--gpus"},
                                      LetterOption{'J', "--job-name"},
                                      LetterOption{'p', "--partition"},
                                      LetterOption{'t', "--time"},
                                      LetterOption{'o', "--output"},
                                      LetterOption{'e', "--error"},
                                      LetterOption{'c', "--cpus-per-task"},
                                      LetterOption{'C', "--constraint"},
                                      LetterOption{'A', "--account"},
                                      LetterOption{'w', "--nodelist"},
                                      LetterOption{'x', "--exclude"},
                                      LetterOption{'q', "--qos"},
                                      LetterOption{'D', "--chdir"},
                                      LetterOption{'d', "--dependency"},
                                      LetterOption{'a', "--array"},
                                      LetterOption{'i', "--input"},
                                      LetterOption{'m', "--distribution"},
                                      LetterOption{'M', "--clusters"},
                                      LetterOption{'L', "--licenses"},
                                      LetterOption{'b', "--begin"},
                                      LetterOption{'B', "--extra-node-info"},
                                      LetterOption{'F', "--nodefile"},
                                      LetterOption{'r', "--relative"},
                                      LetterOption{'S', "--core-spec"},
                                      LetterOption{'T', "--threads"},
                                      LetterOption{'W', "--wait"}};

// Options without a value, or with a value after '=' only.
constexpr std::array<std::string_view, 40> kSlurmFlags = {"--exclusive",
                                                          "--overcommit",
                                                          "--contiguous",
                                                          "--no-kill",
                                                          "--requeue",
                                                          "--no-requeue",
                                                          "--hold",
                                                          "--label",
                                                          "--unbuffered",
                                                          "--multi-prog",
                                                          "--pty",
                                                          "--quiet",
                                                          "--verbose",
                                                          "--parsable",
                                                          "--reboot",
                                                          "--spread-job",
                                                          "--overlap",
                                                          "--oversubscribe",
                                                          "--share",
                                                          "--test-only",
                                                          "--ignore-pbs",
                                                          "--get-user-env",
                                                          "--nice",
                                                          "--disable-status",
                                                          "--immediate",
                                                          "--propagate",
                                                          "--exact",
                                                          "--whole",
                                                          "--no-shell",
                                                          "--bell",
                                                          "--use-min-nodes",
                                                          "--no-bell",
                                                          "--kill-on-bad-exit",
                                                          "--interactive",
                                                          "--preserve-env",
                                                          "--container-mount-home",
                                                          "--no-container-mount-home",
                                                          "--container-writable",
                                                          "--container-remap-root",
                                                          "--no-container-entrypoint"};

std::optional<std::int64_t> slurm_count(std::string_view text) {
  std::int64_t scale = 1;
  if (text.ends_with('k') || text.ends_with('K')) {
    scale = 1024;
    text.remove_suffix(1);
  }
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out < 1 || out > 10'000'000) return std::nullopt;
  return out * scale;
}

std::vector<std::string_view> at_commas(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// The count of "8" or "h100:8", and the GPU that is counted.
struct CountedGpus {
  std::int64_t count = 0;
  std::string name;
};
std::optional<CountedGpus> counted_gpus(std::string_view text) {
  CountedGpus out;
  const std::size_t colon = text.find_last_of(":=");
  if (colon != std::string_view::npos) out.name = std::string(text.substr(0, colon));
  const auto count = slurm_count(text.substr(colon == std::string_view::npos ? 0 : colon + 1));
  if (!count && colon == std::string_view::npos) return std::nullopt;
  if (!count) {  // "gpu:h100" counts one GPU
    out.name = std::string(text);
    out.count = 1;
    return out;
  }
  out.count = *count;
  return out;
}

std::optional<std::int64_t> quotient(const std::optional<std::int64_t>& of, const std::optional<std::int64_t>& by) {
  if (!of || !by || *of % *by != 0) return std::nullopt;
  return *of / *by;
}

}  // namespace

std::vector<SlurmOption> slurm_options(std::span<const ArgumentWord> words, std::size_t& next) {
  std::vector<SlurmOption> out;
  for (next = 0; next < words.size(); ++next) {
    const std::string& word = words[next].text;
    if (words[next].vanishes) continue;
    if (word.size() < 2 || word[0] != '-') break;
    SlurmOption option{word, "", word, words[next].where};
    bool wants = false;
    if (word.starts_with("--")) {
      const std::size_t equals = word.find('=');
      option.name = word.substr(0, equals);
      if (equals != std::string::npos) option.value = word.substr(equals + 1);
      wants = equals == std::string::npos &&
              std::find(kSlurmFlags.begin(), kSlurmFlags.end(), option.name) == kSlurmFlags.end();
    } else {
      const auto* const letter = std::find_if(kSlurmLetters.begin(), kSlurmLetters.end(),
                                              [&](const LetterOption& one) { return one.letter == word[1]; });
      if (letter != kSlurmLetters.end()) {
        option.name = letter->name;
        option.value = word.substr(word.size() > 2 && word[2] == '=' ? 3 : 2);
        wants = word.size() == 2;
      }
    }
    if (wants && next + 1 < words.size() && !words[next + 1].text.starts_with("-")) {
      option.value = words[++next].text;
      option.text += " " + option.value;
    }
    if (option.name == "--tasks-per-node") option.name = "--ntasks-per-node";
    if (option.name == "--n-tasks") option.name = "--ntasks";
    out.push_back(std::move(option));
  }
  return out;
}

bool SlurmRequest::take_gpus(const SlurmOption& option) {
  const bool list = option.name == "--gres" || option.name == "--tres-per-node" || option.name == "--tres-per-task";
  std::optional<std::int64_t> count;
  std::string gpu;
  for (std::string_view part : at_commas(option.value)) {
    if (list) {
      if (part.starts_with("gres/") || part.starts_with("gres:")) part.remove_prefix(5);
      if (part != "gpu" && !part.starts_with("gpu:") && !part.starts_with("gpu=")) continue;
      part.remove_prefix(std::min<std::size_t>(4, part.size()));
      if (part.empty()) part = "1";
    }
    const std::optional<CountedGpus> counted = counted_gpus(part);
    if (!counted) {
      notes.push_back({option.where, fmt::format("{}: '{}' is no number of GPUs", option.text, excerpt(part))});
      return false;
    }
    if (count && gpu != counted->name)
      notes.push_back(
          {option.where, fmt::format("{}: GPUs of several kinds in a node are not told apart", option.text)});
    count = count.value_or(0) + counted->count;
    gpu = counted->name;
  }
  if (!count) return false;
  if (!gpu.empty()) gpu_ = gpu;
  if (option.name == "--gpus-per-node") gpus_per_node_text_ = option.value;
  auto& into = option.name == "--gpus"                                                ? gpus_
               : option.name == "--gpus-per-node"                                     ? gpus_per_node_
               : option.name == "--gpus-per-task" || option.name == "--tres-per-task" ? gpus_per_task_
                                                                                      : gres_;
  into = count;
  return true;
}

bool SlurmRequest::take(const SlurmOption& option) {
  const std::string& name = option.name;
  const auto number = [&](std::optional<std::int64_t>& into) {
    into = slurm_count(option.value);
    if (!into)
      notes.push_back(
          {option.where, fmt::format("{}: '{}' is not a number that is known", option.text, excerpt(option.value))});
    return true;
  };
  bool says = true;
  if (name == "--nodes") {
    const std::size_t dash = option.value.find('-');
    const auto least = slurm_count(std::string_view(option.value).substr(0, dash));
    nodes_ = dash == std::string::npos ? least : slurm_count(std::string_view(option.value).substr(dash + 1));
    if (!least || !nodes_) {
      nodes_.reset();
      notes.push_back({option.where, fmt::format("{}: '{}' is not a number of nodes that is known", option.text,
                                                 excerpt(option.value))});
    } else if (*least != *nodes_) {
      notes.push_back(
          {option.where, fmt::format("{} to {} nodes, as Slurm finds them: {} are taken", *least, *nodes_, *nodes_)});
    }
  } else if (name == "--ntasks") {
    number(tasks_);
  } else if (name == "--ntasks-per-node") {
    number(tasks_per_node_);
  } else if (name == "--gpus" || name == "--gpus-per-node" || name == "--gpus-per-task" || name == "--gres" ||
             name == "--tres-per-node" || name == "--tres-per-task") {
    says = take_gpus(option);
  } else if (name == "--constraint") {
    feature_ = option.value;
  } else {
    if (name == "--partition") partition_ = option.value;
    if (name == "--job-name") job_ = option.value;
    if (name == "--cpus-per-task") number(processors_);
    return false;
  }
  if (says) said_by += (said_by.empty() ? "" : ", ") + option.text;
  return says;
}

ImportedNodes SlurmRequest::nodes(bool task_gpu) const {
  ImportedNodes out;
  out.gpu = gpu_;
  out.partition = partition_;
  out.feature = feature_;
  out.nodes = nodes_ ? nodes_ : quotient(tasks_, tasks_per_node_);
  const std::optional<std::int64_t> tasks = tasks_per_node_ ? tasks_per_node_ : quotient(tasks_, out.nodes);
  out.gpus_per_node = gpus_per_node_ ? gpus_per_node_ : gres_;
  if (!out.gpus_per_node && gpus_per_task_ && tasks) out.gpus_per_node = *gpus_per_task_ * *tasks;
  if (!out.gpus_per_node) out.gpus_per_node = quotient(gpus_, out.nodes);
  if (!out.gpus_per_node && task_gpu && !gpus_ && !gpus_per_task_) out.gpus_per_node = tasks;
  if (!out.nodes) out.nodes = quotient(gpus_, out.gpus_per_node);
  return out;
}

std::map<std::string, std::string> SlurmRequest::environment() const {
  std::map<std::string, std::string> out;
  const ImportedNodes found = nodes();
  const auto set = [&](const char* name, const std::optional<std::int64_t>& value) {
    if (value) out[name] = std::to_string(*value);
  };
  set("SLURM_NNODES", found.nodes);
  set("SLURM_JOB_NUM_NODES", found.nodes);
  set("SLURM_GPUS_ON_NODE", found.gpus_per_node);
  set("SLURM_GPUS", gpus_);
  set("SLURM_NTASKS_PER_NODE", tasks_per_node_);
  set("SLURM_CPUS_PER_TASK", processors_);
  std::optional<std::int64_t> tasks = tasks_;
  if (!tasks && tasks_per_node_ && found.nodes) tasks = *tasks_per_node_ * *found.nodes;
  set("SLURM_NTASKS", tasks);
  set("SLURM_NPROCS", tasks);
  if (!gpus_per_node_text_.empty()) out["SLURM_GPUS_PER_NODE"] = gpus_per_node_text_;
  if (!job_.empty()) out["SLURM_JOB_NAME"] = job_;
  if (!partition_.empty()) out["SLURM_JOB_PARTITION"] = partition_;
  return out;
}

}  // namespace mirfak
