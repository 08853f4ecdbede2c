#include "serve/given_files.hpp"

#include "base/yaml.hpp"
#include "import/program_facts.hpp"
#include "launch/model_mapping.hpp"
#include "model/model_loader.hpp"
#include "serve/scenario_edit.hpp"
#include "serve/scenario_request.hpp"

#include <algorithm>

namespace mirfak::serve {

namespace {

// Returns the scenario with the model of a file, whose text alone is here.
std::string with_model(const ImportFile& file, const std::string& scenario, const ScenarioSources& sources) {
  const std::filesystem::path& models = sources.folders.models;
  const ModelSpec model = parse_model(Document::from_text(file.text, file.name), models);
  const Value mapping = model_mapping(model, models, {file.name, 0, 0});
  return edited(scenario, {{"model", emit_flow_yaml(mapping)}}, kScenarioName);
}

GivenScenario imported_scenario(std::span<const ImportFile> files, const ScenarioSources& sources) {
  const ImportedJob job = import_job(files, {}, {sources});
  GivenScenario out{imported_yaml(job), std::string(job.format->name), {}};
  const auto model = std::find_if(files.begin(), files.end(),
                                  [](const ImportFile& file) { return is_model_file(file.text, file.name); });
  if (model != files.end()) out.text = with_model(*model, out.text, sources);
  for (const ImportObstacle& obstacle : job.draft.obstacles()) out.obstacles.push_back(obstacle.reason);
  return out;
}

}  // namespace

GivenScenario given_scenario(std::span<const ImportFile> files, const std::string& scenario,
                             const ScenarioSources& sources) {
  const ImportFile& first = files.front();
  if (is_scenario_file(first)) return {first.text, "scenario", {}};
  if (files.size() == 1 && is_model_file(first.text, first.name)) {
    return {with_model(first, scenario, sources), "model", {}};
  }
  return imported_scenario(files, sources);
}

}  // namespace mirfak::serve
