#include "scenario/scenario.hpp"

#include "program/quantization_of_job.hpp"
#include "scenario/resolved.hpp"
#include "scenario/search_section.hpp"
#include "scenario/sections.hpp"
#include "scenario/strategy_section.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>

#include <utility>

namespace mirfak {

namespace {

constexpr std::int64_t kMaxPasses = std::int64_t{1} << 24;  // forward passes of one iteration; keeps memory bounded

// The keys below `resolved` that `document` does not have.
void add_keys_left_out(const Node& resolved, const Document& document, std::vector<std::string>& keys) {
  if (!resolved.is_mapping()) {
    if (locate(document, resolved.path()).path() != resolved.path()) keys.push_back(resolved.path());
    return;
  }
  for (const Value::Field& field : resolved.value().fields) {
    add_keys_left_out(resolved.child(field.value, field.key), document, keys);
  }
}

// A rule that is broken is reported at the key that breaks it, even if that key has its default.
void check_rules(const Document& document, const Job& job) {
  const auto broken = first_violation({job.model, job.training, job.strategy, job.cluster.gpus()});
  if (!broken) return;
  const Node place = locate(document, broken->key);
  const bool there = place.path() == broken->key;
  place.fail_infeasible(there ? broken->message : broken->key + ": " + broken->message, broken->hint);
}

void check_sizes(const Document& document, const Job& job) {
  const std::int64_t microbatch_count = microbatches(job.strategy, job.training);
  const std::int64_t chunks = std::int64_t{job.strategy.pipeline} * job.strategy.virtual_pipeline;
  if (microbatch_count > kMaxPasses / chunks) {
    locate(document, "training.global_batch")
        .fail_infeasible(
            fmt::format("{} microbatches through {} chunks are more than 2^24 passes", microbatch_count, chunks),
            "lower training.global_batch or raise strategy.micro_batch");
  }
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    try {
      const GpuSpec& gpu = job.hardware_of(stage).hardware.gpu;
      if (can_train(gpu, job)) continue;
      locate(document, "training.precision")
          .fail_infeasible(gpu.title + " cannot compute in " + job.training.precision,
                           "choose another precision or GPU");
    } catch (const Error& error) {
      if (error.where().known()) throw;
      locate(document, "cluster.nodes").fail_infeasible(error.message(), error.hint());
    }
  }
}

}  // namespace

Scenario parse_scenario(const Document& document, const DataFolders& folders) {
  ScenarioSections sections = read_sections(document, folders);
  const Strategy strategy = read_strategy(sections.strategy, sections.cluster.gpus());
  const Framework framework = *find_framework(sections.training.framework);
  Scenario scenario{
      document.name(),
      {std::move(sections.model), std::move(sections.cluster), std::move(sections.training), strategy, framework},
      {},
      {}};
  // Of no use here, but a mistake in it is one all the same.
  if (sections.search) read_search(sections.search, scenario.job);
  check_rules(document, scenario.job);
  check_sizes(document, scenario.job);
  scenario.resolved = resolved_yaml(scenario.job, sections.model_node);
  const Document resolved = Document::from_text(scenario.resolved, "resolved scenario");
  add_keys_left_out(Node(resolved), document, scenario.defaulted);
  return scenario;
}

Scenario load_scenario(const std::filesystem::path& path, std::span<const std::string> overrides,
                       const DataFolders& folders) {
  Document document = Document::from_file(path);
  for (const std::string& assignment : overrides) document.override_value(assignment);
  return parse_scenario(document, folders);
}

}  // namespace mirfak
