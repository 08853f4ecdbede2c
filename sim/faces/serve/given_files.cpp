#include "serve/given_files.hpp"

#include "base/yaml.hpp"
#include "import/program_facts.hpp"
#include "launch/model_mapping.hpp"
#include "model/model_loader.hpp"
#include "serve/scenario_edit.hpp"
#include "serve/scenario_request.hpp"

namespace mirfak::serve {

namespace {

GivenScenario scenario_with_model(const ImportFile& file, const std::string& scenario, const ScenarioSources& sources) {
  const std::filesystem::path& models = sources.folders.models;
  const ModelSpec model = parse_model(Document::from_text(file.text, file.name), models);
  const Value mapping = model_mapping(model, models, {file.name, 0, 0});
  return {edited(scenario, {{"model", emit_flow_yaml(mapping)}}, kScenarioName), "model", {}};
}

GivenScenario imported_scenario(std::span<const ImportFile> files, const ScenarioSources& sources) {
  const ImportedJob job = import_job(files, {}, {sources});
  GivenScenario out{imported_yaml(job), std::string(job.format->name), {}};
  for (const ImportObstacle& obstacle : job.draft.obstacles()) out.obstacles.push_back(obstacle.reason);
  return out;
}

}  // namespace

GivenScenario given_scenario(std::span<const ImportFile> files, const std::string& scenario,
                             const ScenarioSources& sources) {
  const ImportFile& first = files.front();
  if (is_scenario_file(first)) return {first.text, "scenario", {}};
  if (files.size() == 1 && is_model_file(first.text, first.name)) return scenario_with_model(first, scenario, sources);
  return imported_scenario(files, sources);
}

}  // namespace mirfak::serve
