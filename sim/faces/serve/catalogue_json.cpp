#include "serve/catalogue_json.hpp"

#include "base/document_text.hpp"
#include "base/error.hpp"
#include "model/model_loader.hpp"
#include "page/page.hpp"
#include "schedule/schedule.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace mirfak::serve {

namespace {

using Json = nlohmann::ordered_json;

Json models_json(const DataFolders& folders) {
  Json out = Json::array();
  for (const std::string& name : model_names(folders.models)) {
    const ModelSpec model = load_model(name, folders.models, {});
    out.push_back({{"name", name},
                   {"parameters", count_parameters(model).total},
                   {"layers", model.layers},
                   {"max_sequence", model.max_sequence}});
  }
  return out;
}

Json nodes_json(const Catalog& catalog) {
  Json out = Json::array();
  for (const std::string& name : catalog.names(ProfileKind::node)) {
    const NodeHardware node = catalog.node(name);
    const std::optional<PriceSpec> price = catalog.price("on-demand", node.gpu.name, node.spec.instance);
    out.push_back({{"name", name},
                   {"title", node.spec.title},
                   {"gpus", node.spec.gpus},
                   {"gpu", node.gpu.title},
                   {"memory_bytes", node.gpu.memory_bytes.value},
                   {"usd_per_gpu_hour", price ? Json(price->usd_per_gpu_hour.value) : Json()}});
  }
  return out;
}

Json schedules_json() {
  Json out = Json::array();
  for (const Schedule& schedule : schedules()) {
    out.push_back({{"name", schedule.name}, {"description", schedule.sentence}});
  }
  return out;
}

}  // namespace

nlohmann::ordered_json catalogue_json(const ScenarioSources& sources, const std::filesystem::path& data) {
  const std::filesystem::path scenarios = data / "scenarios";
  const std::filesystem::path schema = scenarios / "schemas" / "scenario.schema.json";
  Json out = Json::object();
  out["models"] = models_json(sources.folders);
  out["nodes"] = nodes_json(sources.catalog);
  out["frameworks"] = sources.frameworks.names();
  out["schedules"] = schedules_json();
  out["units"] = units_json();
  out["example"] = document_text(scenarios / "gpt3-175b-a100.yaml");
  try {
    out["schema"] = Json::parse(document_text(schema));
  } catch (const Json::exception& error) {
    fail_input({schema.string(), 0, 0}, std::string("this schema is no JSON: ") + error.what());
  }
  return out;
}

}  // namespace mirfak::serve
