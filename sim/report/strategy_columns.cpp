#include "report/strategy_columns.hpp"

#include "program/replica_classes.hpp"
#include "schedule/schedule.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

template <int Strategy::*field>
StrategyColumn size(std::string_view heading, std::string (*words)(const Job&)) {
  return {heading, [](const Job& job) { return fmt::format("{}", job.strategy.*field); }, words};
}

// Of each type, however many entries of the cluster it stands in; with several types, whether stages or replicas
// differ.
std::string gpus_cell(const Job& job) {
  std::vector<std::pair<std::string, int>> types;
  for (const NodeGroup& group : job.cluster.groups()) {
    const std::string& name = group.hardware.gpu.name;
    const auto known = std::find_if(types.begin(), types.end(), [&](const auto& type) { return type.first == name; });
    const int gpus = group.count * group.hardware.spec.gpus;
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

std::string shares_cell(const Job& job) {
  const std::string shares = shares_text(job.strategy);
  return shares.empty() ? "even" : shares;
}
std::string shares_words(const Job& job) {
  const std::string shares = shares_text(job.strategy);
  return shares.empty() ? shares : "microbatches of replicas " + shares;
}

std::string tensor_words(const Job& job) { return fmt::format("tp {}", job.strategy.tensor); }
std::string context_words(const Job& job) {
  return job.strategy.context > 1 ? fmt::format("cp {}", job.strategy.context) : "";
}
std::string expert_words(const Job& job) {
  return job.strategy.expert > 1 ? fmt::format("ep {}", job.strategy.expert) : "";
}
std::string expert_tensor_cell(const Job& job) { return fmt::format("{}", job.strategy.tensor_of_experts()); }
std::string expert_tensor_words(const Job& job) {
  return job.model.mixture.experts > 0 ? fmt::format("etp {}", job.strategy.tensor_of_experts()) : "";
}
std::string pipeline_words(const Job& job) { return fmt::format("pp {}", job.strategy.pipeline); }
std::string chunks_words(const Job& job) {
  return job.strategy.virtual_pipeline > 1 ? fmt::format("vpp {}", job.strategy.virtual_pipeline) : "";
}
std::string data_words(const Job& job) { return fmt::format("dp {}", job.strategy.data); }
std::string micro_batch_words(const Job& job) { return fmt::format("microbatches of {}", job.strategy.micro_batch); }

// Interleaving shows in the number of chunks.
std::string schedule_cell(const Job& job) { return job.strategy.schedule == ScheduleKind::gpipe ? "gpipe" : "1f1b"; }

// Layers of each chunk of a stage: "10", or "9-10" where its chunks differ.
std::string layers_of_stage(const std::vector<LayerRange>& chunks) {
  const auto [least, most] = std::minmax_element(
      chunks.begin(), chunks.end(), [](const LayerRange& a, const LayerRange& b) { return a.count < b.count; });
  if (least->count == most->count) return fmt::format("{}", least->count);
  return fmt::format("{}-{}", least->count, most->count);
}

// Stage by stage, those alike said once: "10", "9 10.. 8".
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

std::string sequence_cell(const Job& job) { return job.strategy.sequence_parallel ? "yes" : "no"; }
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
  return share == 1 ? "optimizer on the host" : fmt::format("{:g} of the optimizer on the host", share);
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

}  // namespace

const std::vector<StrategyColumn>& strategy_columns() {
  static const std::vector<StrategyColumn> columns = {
      {"GPUs", gpus_cell, gpus_cell},
      size<&Strategy::tensor>("tp", tensor_words),
      size<&Strategy::context>("cp", context_words),
      size<&Strategy::expert>("ep", expert_words),
      {"etp", expert_tensor_cell, expert_tensor_words},
      size<&Strategy::pipeline>("pp", pipeline_words),
      size<&Strategy::virtual_pipeline>("vpp", chunks_words),
      size<&Strategy::data>("dp", data_words),
      size<&Strategy::micro_batch>("mb", micro_batch_words),
      {"shares", shares_cell, shares_words},
      {"order", schedule_cell, schedule_cell},
      {"layers", layers_cell, layers_words},
      {"sp", sequence_cell, sequence_words},
      {"recompute", recompute_cell, recompute_words},
      size<&Strategy::zero>("ZeRO", zero_words),
      {"offload", offload_cell, offload_words},
      {"overlap", overlap_cell, overlap_words},
  };
  return columns;
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
  for (const NodeGroup& group : cluster.groups()) {
    out += fmt::format("{}{} {}", out.empty() ? "" : " + ", group.count, group.hardware.spec.name);
  }
  return out;
}

std::string differences_text(const Job& job, const Job& from) {
  std::string out;
  for (const StrategyColumn& column : strategy_columns()) {
    // Without experts it follows from the tensor-parallel size.
    if (column.heading == "etp" && job.model.mixture.experts == 0) continue;
    const std::string own = column.cell(job);
    const std::string other = column.cell(from);
    if (own == other) continue;
    out += fmt::format("{}{} {} instead of {}", out.empty() ? "" : ", ", column.heading, own, other);
  }
  return out.empty() ? "nothing that is shown here" : out;
}

}  // namespace mirfak
