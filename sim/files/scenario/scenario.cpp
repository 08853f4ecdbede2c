#include "scenario/scenario.hpp"

#include "base/error.hpp"
#include "scenario/job_check.hpp"
#include "scenario/resolved.hpp"
#include "scenario/search_section.hpp"
#include "scenario/sections.hpp"
#include "scenario/strategy_section.hpp"

#include <fmt/format.h>

#include <utility>

namespace mirfak {

namespace {

Job job_of(const Document& document, ScenarioSections& sections, const ScenarioSources& sources) {
  const Strategy strategy = read_strategy(sections.strategy, sections.cluster, sections.model);
  Job job{std::move(sections.model),     std::move(sections.cluster),
          std::move(sections.training),  strategy,
          std::move(sections.framework), sources.ranges};
  // The section `search` has no use here, but a mistake in it is still an error.
  if (sections.search) read_search(sections.search, job);
  check_job(document, job);
  return job;
}

Scenario scenario_of(const Document& document, ScenarioSections sections, const ScenarioSources& sources) {
  const StatedSetting stated = stated_setting(sections, sources);
  Scenario scenario{document.name(), document, job_of(document, sections, sources), {}, {}, {}, {}};
  scenario.operations = std::move(sections.operations);
  scenario.assertions = std::move(sections.assertions);
  scenario.completed = completed_scenario(scenario.job, stated);
  scenario.resolved = completed_yaml(scenario.completed);
  scenario.defaulted = defaulted_keys(scenario.completed, document.root());
  return scenario;
}

}  // namespace

const Operations& operations_of(const Scenario& scenario) {
  if (scenario.operations) return *scenario.operations;
  const bool endless = scenario.job.training.tokens <= 0;
  fail_input({scenario.name, 0, 0},
             fmt::format("the section `operations` is missing: it says what happens between the iterations{}",
                         endless ? "; and training.tokens, which says how long the training is" : ""),
             fmt::format("write operations: {{failures: {{rate_per_node_day: 0.004}}, restart_s: 600, checkpoint: "
                         "{{write_s: 10}}}}{}, or say the keys with --set operations.restart_s=600{} ...",
                         endless ? " and training: {tokens: 1T}" : "", endless ? " --set training.tokens=1T" : ""));
}

Scenario parse_scenario(const Document& document, const ScenarioSources& sources) {
  return scenario_of(document, read_sections(document, sources), sources);
}

Scenario parse_scenario(const Document& document, const Cluster& cluster, const ScenarioSources& sources) {
  Scenario out = scenario_of(document, read_sections(document, cluster, sources), sources);
  std::erase_if(out.defaulted, [](const std::string& key) { return key.starts_with("cluster."); });
  return out;
}

Scenario load_scenario(const std::filesystem::path& path, std::span<const std::string> overrides,
                       const ScenarioSources& sources) {
  Document document = Document::from_file(path);
  for (const std::string& assignment : overrides) document.override_value(assignment);
  return parse_scenario(document, sources);
}

Scenario load_scenario(const std::filesystem::path& path, std::span<const std::string> overrides,
                       const DataFolders& folders) {
  return load_scenario(path, overrides, ScenarioSources(folders));
}

Scenario parse_scenario(const Document& document, const DataFolders& folders) {
  return parse_scenario(document, ScenarioSources(folders));
}

}  // namespace mirfak
