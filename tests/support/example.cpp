#include "support/example.hpp"
#include "support/source_root.hpp"

#include <filesystem>
#include <utility>

namespace mirfak {

namespace {

constexpr const char* kScenario = R"(
model: gpt3-2.7b
cluster:
  nodes: [{type: dgx-a100-80g, count: 2}]
training: {global_batch: 16, sequence_length: 1024, precision: bf16, framework: megatron-lm-2021, tokens: 1e9}
strategy: {tensor: 2, pipeline: 4, virtual_pipeline: 2, micro_batch: 1, schedule: interleaved-1f1b}
)";

}  // namespace

Example example(const std::vector<std::string>& overrides, const LoweringOptions& options) {
  const std::filesystem::path source = source_root();
  Document document = Document::from_text(kScenario, "example.yaml");
  for (const std::string& assignment : overrides) document.override_value(assignment);
  Scenario scenario = parse_scenario(document, {source / "models", source / "hw_profiles"});
  Simulation simulation = simulate(scenario.job, options);
  return {std::move(scenario), std::move(simulation)};
}

}  // namespace mirfak
