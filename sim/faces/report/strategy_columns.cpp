#include "report/strategy_columns.hpp"

#include "base/units.hpp"
#include "program/replica_classes.hpp"
#include "report/job_text.hpp"
#include "schedule/schedule.hpp"
#include "strategy/rules.hpp"
#include "strategy/strategy_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

// Returns the number of GPUs of each type, over all entries of the cluster; with several types, also whether stages or
// replicas differ.
std::string gpus_cell(const Job& job) {
  std::vector<std::pair<std::string, int>> types;
  for (const NodeGroup& group : job.cluster.groups()) {
    const std::string& name = group.hardware.gpu.name;
    const auto known = std::find_if(types.begin(), types.end(), [&](const auto& type) { return type.first == name; });
    const int gpus = group.gpus();
    if (known == types.end()) {
      types.emplace_back(name, gpus);
    } else {
      known->second += gpus;
    }
  }
  std::string out;
  for (const auto& [name, gpus] : types) out += fmt::format("{}{} {}", out.empty() ? "" : " + ", gpus, name);
  if (types.size() == 1) return out;
  return out + (replica_classes(job).size() > 1 ? " by replica" : " by stage");
}

// Returns the clock of each entry of the cluster in MHz; "-" if the clock is not set.
std::string clocks_cell(const Job& job) {
  std::vector<std::string> clocks;
  for (const NodeGroup& group : job.cluster.kinds()) {
    const double clock_hz = group.hardware.spec.clock_hz;
    std::string text = clock_hz > 0 ? fmt::format("{:g}", clock_hz / kMegahertz) : "-";
    if (clocks.empty() || clocks.back() != text) clocks.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(clocks, " "));
}
std::string clocks_words(const Job& job) {
  const std::string clocks = clocks_cell(job);
  return clocks == "-" ? "" : "clocks of " + clocks + " MHz";
}

std::string shares_cell(const Job& job) {
  const std::string shares = shares_text(job.strategy);
  return shares.empty() ? "even" : shares;
}
std::string shares_words(const Job& job) {
  const std::string shares = shares_text(job.strategy);
  return shares.empty() ? shares : "microbatches of replicas " + shares;
}

// Returns a value of stages that have their own shape, one after the other: "8/2"; neighbours of one shape are named
// once. Returns "8" if all agree.
std::string by_stage(const Strategy& strategy, int (*value)(const Strategy&)) {
  std::vector<int> values = {value(strategy.at(0))};
  for (std::size_t stage = 1; stage < strategy.stages.size(); ++stage) {
    if (strategy.stages[stage] == strategy.stages[stage - 1]) continue;
    values.push_back(value(strategy.at(static_cast<int>(stage))));
  }
  const bool agree = std::count(values.begin(), values.end(), values.front()) == std::ssize(values);
  return agree ? fmt::format("{}", values.front()) : fmt::format("{}", fmt::join(values, "/"));
}

std::string tensor_cell(const Job& job) {
  return by_stage(job.strategy, [](const Strategy& of) { return of.tensor; });
}
std::string tensor_words(const Job& job) { return "tp " + tensor_cell(job); }
std::string context_words(const Job& job) {
  return job.strategy.context > 1 ? fmt::format("cp {}", job.strategy.context) : "";
}
std::string expert_cell(const Job& job) {
  return by_stage(job.strategy, [](const Strategy& of) { return of.expert; });
}
std::string expert_words(const Job& job) {
  const std::string cell = expert_cell(job);
  return cell == "1" ? "" : "ep " + cell;
}
std::string expert_tensor_cell(const Job& job) {
  return by_stage(job.strategy, [](const Strategy& of) { return of.tensor_of_experts(); });
}
std::string expert_tensor_words(const Job& job) {
  return job.model.mixture.experts > 0 ? "etp " + expert_tensor_cell(job) : "";
}
// Returns the number of stages of each shape, "1+3"; without shapes, the number of stages.
std::string pipeline_cell(const Job& job) {
  const std::vector<StageShape>& stages = job.strategy.stages;
  std::string out;
  for (auto from = stages.begin(); from != stages.end();) {
    const auto to = std::find_if(from, stages.end(), [&](const StageShape& stage) { return !(stage == *from); });
    out += fmt::format("{}{}", out.empty() ? "" : "+", to - from);
    from = to;
  }
  return out.empty() ? fmt::format("{}", job.strategy.pipeline) : out;
}
std::string pipeline_words(const Job& job) { return "pp " + pipeline_cell(job); }
std::string chunks_words(const Job& job) {
  return job.strategy.virtual_pipeline > 1 ? fmt::format("vpp {}", job.strategy.virtual_pipeline) : "";
}
std::string data_cell(const Job& job) {
  return by_stage(job.strategy, [](const Strategy& of) { return of.data; });
}
std::string data_words(const Job& job) { return "dp " + data_cell(job); }
std::string micro_batch_cell(const Job& job) {
  return by_stage(job.strategy, [](const Strategy& of) { return of.micro_batch; });
}
std::string micro_batch_words(const Job& job) { return "microbatches of " + micro_batch_cell(job); }

// Returns the schedule. Interleaving shows in the number of chunks.
std::string schedule_cell(const Job& job) {
  const Schedule& schedule = schedule_of(job.strategy.schedule);
  return schedule.in_groups ? "1f1b" : schedule.name;
}

// Returns the layers of each chunk of a stage: "10", or "9-10" if the stage's chunks differ.
std::string layers_of_stage(const std::vector<LayerRange>& chunks) {
  const auto [min, max] = std::minmax_element(
      chunks.begin(), chunks.end(), [](const LayerRange& a, const LayerRange& b) { return a.count < b.count; });
  if (min->count == max->count) return fmt::format("{}", min->count);
  return fmt::format("{}-{}", min->count, max->count);
}

// Returns the layers stage by stage, neighbours that are alike once: "10", "9 10.. 8".
std::string layers_cell(const Job& job) {
  std::string out;
  std::string last;
  std::string last_said;
  for (const std::vector<LayerRange>& chunks : layers_of_chunks(job.strategy, job.model)) {
    const std::string stage = layers_of_stage(chunks);
    if (stage != last) out += last_said + (out.empty() ? "" : " ") + stage;
    last_said = stage == last ? ".." : "";
    last = stage;
  }
  return out.find(' ') == std::string::npos ? out : out + last_said;
}
std::string layers_words(const Job& job) {
  if (job.strategy.virtual_pipeline == 1 && job.strategy.pipeline == 1) return "";
  return fmt::format("{} layers a chunk", layers_cell(job));
}

std::string sequence_words(const Job& job) { return job.strategy.sequence_parallel ? "sequence parallel" : ""; }

std::string recompute_cell(const Job& job) {
  const Strategy& s = job.strategy;
  if (s.recompute == Recompute::none) return "none";
  const std::string kind = s.recompute == Recompute::full ? "full" : "sel";
  if (s.recompute_method == RecomputeMethod::uniform) return fmt::format("{} /{}", kind, s.recompute_layers);
  return s.recompute_layers > 0 ? fmt::format("{} {}", kind, s.recompute_layers) : kind;
}
std::string recompute_words(const Job& job) {
  const Strategy& s = job.strategy;
  if (s.recompute == Recompute::none) return "no recomputation";
  const std::string kind = s.recompute == Recompute::full ? "full recomputation" : "selective recomputation";
  if (s.recompute_method == RecomputeMethod::uniform) {
    return fmt::format("{} of all layers in groups of {}", kind, s.recompute_layers);
  }
  return s.recompute_layers > 0 ? fmt::format("{} of {} layers a chunk", kind, s.recompute_layers) : kind;
}

std::string zero_words(const Job& job) {
  return job.strategy.zero > 0 ? fmt::format("ZeRO {}", job.strategy.zero) : "no ZeRO";
}

std::string offload_cell(const Job& job) {
  const double share = job.strategy.offload_optimizer;
  return share > 0 ? fmt::format("{:g}", share) : "-";
}
std::string offload_words(const Job& job) {
  const double share = job.strategy.offload_optimizer;
  if (share == 0) return "";
  return offload_text(share);
}

std::string overlap_cell(const Job& job) {
  std::string out;
  if (job.strategy.overlap_tensor) out += 't';
  if (job.strategy.overlap_grad_reduce) out += 'g';
  if (job.strategy.overlap_param_gather) out += 'p';
  return out.empty() ? "-" : out;
}
std::string overlap_words(const Job& job) {
  std::vector<std::string> kinds;
  if (job.strategy.overlap_tensor) kinds.emplace_back("tensor communication");
  if (job.strategy.overlap_grad_reduce) kinds.emplace_back("gradient reduction");
  if (job.strategy.overlap_param_gather) kinds.emplace_back("parameter gather");
  return kinds.empty() ? "nothing overlapped" : fmt::format("overlapped {}", fmt::join(kinds, ", "));
}

const StrategyKey& key_named(std::string_view name) {
  const std::span<const StrategyKey> keys = strategy_keys();
  return *std::find_if(keys.begin(), keys.end(), [&](const StrategyKey& key) { return key.key == name; });
}

// Returns the value of a key as scenarios write it; "yes" and "no" for truth values, "-" for a key that is left out.
std::string value_cell(const StrategyKey& key, const Strategy& strategy) {
  if (key.left_out(strategy)) return "-";
  const std::string text = key.text(strategy);
  return text == "true" ? "yes" : text == "false" ? "no" : text;
}

StrategyColumn column(std::string_view heading, std::string_view key, std::string (*words)(const Job&)) {
  return {heading, {key}, [&of = key_named(key)](const Job& job) { return value_cell(of, job.strategy); }, words};
}

// Returns words for a field that has no column of its own; empty unless the field is set and means something.
std::string other_words(const StrategyKey& key, const Strategy& strategy) {
  const std::string text = key.text(strategy);
  if (text == key.text(Strategy()) || key.left_out(strategy) || !key.means_something(strategy)) return {};
  return text == "true" ? std::string(key.key) : fmt::format("{} {}", key.key, text);
}

// Adds a column for each field that no other column shows.
std::vector<StrategyColumn> with_other_fields(std::vector<StrategyColumn> columns) {
  for (const StrategyKey& key : strategy_keys()) {
    const bool told = std::any_of(columns.begin(), columns.end(), [&](const StrategyColumn& of) {
      return std::find(of.keys.begin(), of.keys.end(), key.key) != of.keys.end();
    });
    if (told) continue;
    columns.push_back({key.key,
                       {key.key},
                       [&key](const Job& job) { return value_cell(key, job.strategy); },
                       [&key](const Job& job) { return other_words(key, job.strategy); }});
  }
  return columns;
}

// True for models with experts. Without experts, the size of their tensor groups follows from that of all.
bool has_experts(const Job& job) { return job.model.mixture.experts > 0; }

}  // namespace

const std::vector<StrategyColumn>& strategy_columns() {
  static const std::vector<StrategyColumn> columns = with_other_fields({
      {"GPUs", {}, gpus_cell, gpus_cell},
      {"MHz", {}, clocks_cell, clocks_words},
      {"tp", {"tensor", "stages"}, tensor_cell, tensor_words},
      column("cp", "context", context_words),
      {"ep", {"expert"}, expert_cell, expert_words},
      {"etp", {"expert_tensor"}, expert_tensor_cell, expert_tensor_words, has_experts},
      {"pp", {"pipeline"}, pipeline_cell, pipeline_words},
      column("vpp", "virtual_pipeline", chunks_words),
      {"dp", {"data"}, data_cell, data_words},
      {"mb", {"micro_batch"}, micro_batch_cell, micro_batch_words},
      {"shares", {"replica_microbatches"}, shares_cell, shares_words},
      {"order", {"schedule"}, schedule_cell, schedule_cell},
      {"layers",
       {"layer_split", "account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split"},
       layers_cell,
       layers_words},
      column("sp", "sequence_parallel", sequence_words),
      {"recompute", {"recompute", "recompute_method", "recompute_layers"}, recompute_cell, recompute_words},
      column("ZeRO", "zero", zero_words),
      {"offload", {"offload_optimizer"}, offload_cell, offload_words},
      {"overlap", {"overlap_tensor", "overlap_grad_reduce", "overlap_param_gather"}, overlap_cell, overlap_words},
  });
  return columns;
}

std::string whole_strategy_text(const Job& job) {
  std::vector<std::string> words;
  for (const StrategyColumn& column : strategy_columns()) {
    if (!column.tells(job)) continue;
    if (std::string own = column.words(job); !own.empty()) words.push_back(std::move(own));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string sizes_text(const Job& job) {
  std::string out = tensor_words(job);
  for (const std::string& words : {context_words(job), expert_words(job), pipeline_words(job)}) {
    if (!words.empty()) out += ' ' + words;
  }
  if (job.strategy.virtual_pipeline > 1) out += fmt::format("x{}", job.strategy.virtual_pipeline);
  return out + fmt::format(" {} mb {}", data_words(job), micro_batch_cell(job));
}

std::string shares_text(const Strategy& strategy) {
  const std::vector<int>& shares = strategy.replica_microbatches;
  std::string out;
  for (auto from = shares.begin(); from != shares.end();) {
    const auto to = std::find_if(from, shares.end(), [&](int count) { return count != *from; });
    out += fmt::format("{}{}x{}", out.empty() ? "" : " ", to - from, *from);
    from = to;
  }
  return out;
}

std::string nodes_text(const Cluster& cluster) {
  std::string out;
  for (const NodeGroup& group : cluster.kinds()) {
    if (group.nodes() == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : " + ", group.count, group.hardware.spec.name);
  }
  return out;
}

std::string differences_text(const Job& job, const Job& from) {
  std::string out;
  for (const StrategyColumn& column : strategy_columns()) {
    if (!column.tells(job)) continue;
    const std::string own = column.cell(job);
    const std::string other = column.cell(from);
    if (own == other) continue;
    out += fmt::format("{}{} {} instead of {}", out.empty() ? "" : ", ", column.heading, own, other);
  }
  return out.empty() ? "nothing that is shown here" : out;
}

}  // namespace mirfak
