#include "scenario/scenario.hpp"

#include "model/model_loader.hpp"
#include "scenario/job_reading.hpp"
#include "scenario/resolved.hpp"

#include <utility>

namespace mirfak {

namespace {

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

}  // namespace

Scenario parse_scenario(const Document& document, const DataFolders& folders) {
  Mapping root{Node(document)};
  const Node model_node = root.require("model");
  const Catalog catalog(folders.hardware);
  ModelSpec model = model_node.is_mapping() ? parse_model(model_node)
                                            : load_model(model_node.as_string(), folders.models, model_node.where());
  Cluster cluster = read_cluster(root.require("cluster"), catalog);
  TrainingSpec training = read_training(root.require("training"), model);
  const std::optional<Node> strategy_node = root.find("strategy");
  const Value nothing;
  const Strategy strategy =
      read_strategy(strategy_node ? *strategy_node : Node(document, nothing, "strategy"), cluster.gpus());
  root.finish();

  const Framework framework = *find_framework(training.framework);
  Scenario scenario{
      document.name(), {std::move(model), std::move(cluster), std::move(training), strategy, framework}, {}, {}};
  check_job(document, scenario.job);
  scenario.resolved = resolved_yaml(scenario.job, model_node);
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
