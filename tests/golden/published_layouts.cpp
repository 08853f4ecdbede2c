// Layouts that experts chose, published and measured, against what a search finds under the same constraints: the same
// model, cluster, batch, numbers and framework, memory included, and what the framework could do at the time. The
// expert's own layout is in the space that is searched, so the search ties it or beats it, by the engine's figures.

#include "plan/search.hpp"
#include "simulation/iteration.hpp"
#include "strategy/rules.hpp"
#include "support/source_root.hpp"
#include "validation/validate_runs.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

// A row of a table in validate/published, by its line, as `mirfak validate TABLE --line N` shows it.
struct Row {
  const char* table;
  int line;
};

// Well-known large runs of each generation of GPUs.
constexpr Row kRows[] = {
    {"alpa-osdi22-v100", 2},
    {"alpa-osdi22-v100", 3},
    {"alpa-osdi22-v100", 4},
    {"narayanan-sc21-table2", 2},
    {"narayanan-sc21-table2", 6},
    {"narayanan-sc21-table2", 7},
    {"narayanan-sc21-table2", 8},
    {"korthikanti-2022-seqpar-selective", 2},
    {"korthikanti-2022-seqpar-selective", 3},
    {"korthikanti-2022-seqpar-selective", 4},
    {"korthikanti-2022-seqpar-selective", 5},
    {"korthikanti-2022-seqpar-selective", 6},
    {"mt-nlg-and-llama1", 2},
    {"mt-nlg-and-llama1", 3},
    {"mt-nlg-and-llama1", 4},
    {"bigscience-a100-176b-tuning", 26},
    {"bigscience-a100-176b-tuning", 65},
    {"vtrain-multi", 2},
    {"mosaicml-llm-foundry", 2},
    {"mlperf-pretrain", 2},
    {"mlperf-pretrain", 5},
    {"mlperf-pretrain", 9},
    {"mlperf-pretrain", 17},
    {"mlperf-pretrain", 27},
    {"nvidia-dgxc-benchmarking", 2},
    {"nvidia-dgxc-benchmarking", 12},
    {"nvidia-dgxc-benchmarking", 16},
    {"megatron-bridge-performance-summary", 47},
    {"megatron-bridge-performance-summary", 57},
    {"megatron-bridge-performance-summary", 137},
    {"nemo-userguide-excerpts-and-digitised", 3},
    {"nemo-userguide-excerpts-and-digitised", 5},
    {"nemo-userguide-excerpts-and-digitised", 6},
    {"nemo-userguide-excerpts-and-digitised", 7},
};

// The abilities that frameworks had when they ran these rows.
struct Abilities {
  std::string framework;
  bool model_parallel = true;
  bool interleaved = true;
  bool sequence_parallel = true;  // with it selective recomputation: both are of arXiv 2205.05198
  bool context_parallel = true;
  bool overlaps_tensor = true;    // products beside their collectives: user buffers of Transformer Engine
  bool overlaps_replicas = true;  // gradients and parameters beside passes
  int zero = 1;                   // the highest stage; Megatron-LM's distributed optimizer is of 2022
};

const Abilities& abilities_of(const Framework& framework) {
  // A framework that inherits from another stands before it.
  static const std::vector<Abilities> known = {
      {"megatron-core"},
      {"megatron-lm-2022", true, true, true, false, false, false, 0},
      {"megatron-deepspeed", true, false, false, false, false, false, 1},
      {"deepspeed-2021", false, false, false, false, false, true, 3},
      {"llm-foundry", false, false, false, false, false, true, 3},
      {"megatron-lm-2021", true, true, false, false, false, false, 0},
  };
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const Abilities& each) { return framework.is_like(each.framework); });
  REQUIRE_MESSAGE(found != known.end(), framework.name);
  return *found;
}

template <typename T>
void include(std::vector<T>& values, const T& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

template <typename T>
void keep_up_to(std::vector<T>& values, T most) {
  std::erase_if(values, [&](const T& value) { return value > most; });
}

void restrict_to(const Abilities& abilities, StrategySpace& space) {
  if (!abilities.model_parallel) space.tensor = space.pipeline = {1};
  if (!abilities.interleaved || !abilities.model_parallel) space.schedule = {schedule_named("1f1b")};
  if (!abilities.sequence_parallel) {
    space.sequence_parallel = {false};
    space.recompute = {Recompute::none, Recompute::full};
  }
  keep_up_to(space.zero, abilities.zero);
  if (!abilities.context_parallel) space.context = {1};
  if (!abilities.overlaps_tensor) space.overlap_tensor = {false};
  if (!abilities.overlaps_replicas) space.overlap_grad_reduce = space.overlap_param_gather = {false};
}

// Sizes that engineers try: a wider space finds more, and takes longer.
void keep_usual_sizes(StrategySpace& space) {
  keep_up_to(space.tensor, 16);
  keep_up_to(space.context, 4);
  keep_up_to(space.pipeline, 64);
  keep_up_to(space.micro_batch, 8);
  std::erase_if(space.tensor, [](int size) { return (size & (size - 1)) != 0; });
  space.expert_tensor = {1};
  space.recompute_method = {RecomputeMethod::block};
  space.recompute_layers = {0};
  space.uneven_layers = space.uneven_end_chunks = 0;
  space.offload_optimizer = {0};
}

// Layers that the chunks of the ends have fewer than those between; nullopt: a split of another form.
std::optional<std::pair<int, int>> fewer_at_ends(const Strategy& strategy) {
  if (strategy.layer_split.empty()) return std::pair(0, 0);
  const int most = *std::max_element(strategy.layer_split.begin(), strategy.layer_split.end());
  const int first = most - strategy.layer_split.front();
  const int last = most - strategy.layer_split.back();
  for (int i = 0; i < strategy.pipeline * strategy.virtual_pipeline; ++i) {
    const int stage = i % strategy.pipeline;
    const int fewer = stage == 0 ? first : stage + 1 == strategy.pipeline ? last : 0;
    if (strategy.layer_split[static_cast<std::size_t>(i)] != most - fewer) return std::nullopt;
  }
  return std::pair(first, last);
}

// The values of the expert's layout, and what a search leaves as it is.
void include_layout(const Strategy& s, StrategySpace& space) {
  const auto ends = fewer_at_ends(s);
  REQUIRE(ends);
  space.uneven_layers = std::max({space.uneven_layers, ends->first, ends->second});
  include(space.tensor, s.tensor);
  include(space.context, s.context);
  include(space.expert, s.expert);
  include(space.expert_tensor, s.tensor == 1 ? 0 : s.expert_tensor);
  include(space.pipeline, s.pipeline);
  include(space.virtual_pipeline, s.virtual_pipeline);
  include(space.schedule, s.schedule);
  include(space.micro_batch, s.micro_batch);
  include(space.sequence_parallel, s.sequence_parallel);
  include(space.overlap_tensor, s.overlap_tensor);
  include(space.recompute, s.recompute);
  include(space.recompute_layers, s.recompute_layers);
  include(space.zero, s.zero);
  include(space.overlap_grad_reduce, s.overlap_grad_reduce);
  include(space.overlap_param_gather, s.overlap_param_gather);
  space.others.microbatch_group = s.microbatch_group;
  space.others.context_communication = s.context_communication;
  space.others.expert_dispatcher = s.expert_dispatcher;
  space.others.overlap_expert = s.overlap_expert;
  space.others.recompute_modules = s.recompute_modules;
  REQUIRE(s.zero_group == 0);
  REQUIRE(s.offload_layers == 0);
  REQUIRE(s.offload_optimizer == 0);
  REQUIRE(s.recompute_method == RecomputeMethod::block);
}

StrategySpace space_of(const Job& job) {
  StrategySpace space = default_space(job.model, job.training, job.framework);
  keep_usual_sizes(space);
  restrict_to(abilities_of(job.framework), space);
  include_layout(job.strategy, space);
  return space;
}

// Searches only the expert's layout: that it can be found at all shows that it is in the space.
SearchResult search_for_layout(const Job& job, StrategySpace space) {
  const Strategy& s = job.strategy;
  const auto ends = fewer_at_ends(s);
  const auto only = [](auto& values, auto value) { values = {value}; };
  only(space.tensor, s.tensor);
  only(space.context, s.context);
  only(space.expert, s.expert);
  only(space.expert_tensor, s.tensor == 1 ? 0 : s.expert_tensor);
  only(space.pipeline, s.pipeline);
  only(space.virtual_pipeline, s.virtual_pipeline);
  only(space.schedule, s.schedule);
  only(space.micro_batch, s.micro_batch);
  only(space.sequence_parallel, s.sequence_parallel);
  only(space.overlap_tensor, s.overlap_tensor);
  only(space.recompute, s.recompute);
  only(space.recompute_layers, s.recompute_layers);
  only(space.zero, s.zero);
  only(space.overlap_grad_reduce, s.overlap_grad_reduce);
  only(space.overlap_param_gather, s.overlap_param_gather);
  space.uneven_layers = std::max(ends->first, ends->second);
  SearchSpec spec;
  spec.space = space;
  spec.exhaustive = true;
  spec.headroom = 0;  // it ran, however full its memory was
  return search(job, spec);
}

std::string text_of(const Strategy& s) {
  std::string out = fmt::format("{}/{}/{}", s.tensor, s.pipeline, s.data);
  if (s.context > 1) out += fmt::format(" cp {}", s.context);
  if (s.expert > 1) out += fmt::format(" ep {}", s.expert);
  if (s.virtual_pipeline > 1) out += fmt::format(" vpp {}", s.virtual_pipeline);
  out += fmt::format(" mb {}", s.micro_batch);
  if (s.zero > 0) out += fmt::format(" z{}", s.zero);
  if (s.recompute == Recompute::full) out += " full";
  if (s.recompute == Recompute::selective) out += " sel";
  if (s.sequence_parallel && s.tensor > 1) out += s.overlap_tensor ? " sp+" : " sp";
  if (s.overlap_grad_reduce) out += " og";
  return out;
}

ValidatedRun read_row(const Row& row, const RunMappings& mappings, const DataFolders& folders) {
  const std::filesystem::path source = source_root();
  const auto path = source / "validate" / "published" / (std::string(row.table) + ".csv");
  const CsvTable table = CsvTable::from_file(path).only_line(row.line);
  REQUIRE(table.rows() == 1);
  return validate_runs(table, mappings, folders).front();
}

struct Comparison {
  double expert_s = 0;
  double found_s = 0;
};

Comparison compare(const ValidatedRun& run, const DataFolders& folders) {
  const Job job = parse_scenario(Document::from_text(run.scenario, "row"), folders).job;
  SearchSpec spec;
  spec.space = space_of(job);
  spec.top = 1;
  spec.headroom = 0;  // the expert's constraints
  const SearchResult expert = search_for_layout(job, spec.space);
  REQUIRE(expert.strategies.size() == 1);
  CHECK(expert.strategies.front().iteration_time_s == run.seconds.predicted);
  const SearchResult result = search(job, spec);
  REQUIRE(result.strategies.size() == 1);
  const FoundStrategy& found = result.strategies.front();
  const auto simulation = simulate(found.job);
  CHECK(simulation.result.fits);
  CHECK(simulation.result.iteration_time_s == found.iteration_time_s);
  fmt::print("{:<22}{:<12}{:>6}{:>10.3f}{:>10.3f}  {:<34}{:>10.3f}  {:<38}{:>7.1f} %\n", run.run.model.substr(0, 21),
             run.run.gpu.substr(0, 11), job.cluster.gpus(), run.seconds.measured, run.seconds.predicted,
             text_of(job.strategy), found.iteration_time_s, text_of(found.job.strategy),
             100 * (1 - found.iteration_time_s / run.seconds.predicted));
  return {run.seconds.predicted, found.iteration_time_s};
}

}  // namespace

TEST_CASE("experts' published layouts are tied or beaten by what a search finds under the same constraints") {
  const std::filesystem::path source = source_root();
  const DataFolders folders{source / "models", source / "hw_profiles"};
  const RunMappings mappings = RunMappings::from_folder(source / "validate" / "published");
  fmt::print("\n{:<22}{:<12}{:>6}{:>10}{:>10}  {:<34}{:>10}  {:<38}{:>9}\n", "model", "GPU", "GPUs", "measured",
             "predicted", "expert: tp/pp/dp", "found", "tp/pp/dp", "gain");
  int beaten = 0;
  for (const Row& row : kRows) {
    CAPTURE(row.table);
    CAPTURE(row.line);
    const ValidatedRun run = read_row(row, mappings, folders);
    REQUIRE_MESSAGE(run.scored(), run.skipped);
    REQUIRE(run.fits);
    const Comparison times = compare(run, folders);
    CHECK(times.found_s <= times.expert_s);
    beaten += times.found_s < times.expert_s ? 1 : 0;
  }
  fmt::print("{} of {} beaten, the others tied\n", beaten, std::size(kRows));
}
