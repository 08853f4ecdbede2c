#include "serve/catalogue_json.hpp"

#include "base/document_text.hpp"
#include "base/error.hpp"
#include "base/named_files.hpp"
#include "base/text.hpp"
#include "model/model_loader.hpp"
#include "page/page.hpp"
#include "scenario/scenario.hpp"
#include "schedule/schedule.hpp"
#include "serve/given_files.hpp"
#include "serve/scenario_request.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace mirfak::serve {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kExample = "gpt3-175b-a100.yaml";  // the example with which a page begins

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
    Json kinds = Json::array();
    const std::vector<NodeHardware> all = catalog.node_kinds(name);
    for (const NodeHardware& kind : all) {
      const std::optional<PriceSpec> price = catalog.price("on-demand", kind.gpu.name, kind.spec.instance);
      kinds.push_back({{"gpus", kind.spec.gpus_of_kind()},
                       {"gpu", kind.gpu.title},
                       {"memory_bytes", kind.gpu.memory_bytes.value},
                       {"usd_per_gpu_hour", price ? Json(price->usd_per_gpu_hour.value) : Json()}});
    }
    out.push_back({{"name", name}, {"title", all.front().spec.title}, {"kinds", std::move(kinds)}});
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

// Returns the first sentence of the comment at the beginning of a file.
std::string first_sentence(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size() && text[at] == '#';) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line(trimmed(std::string_view(text).substr(at + 1, end - at - 1)));
    out += (out.empty() ? "" : " ") + line;
    at = end + 1;
  }
  const std::size_t stop = std::min({out.find(". "), out.find(": "), out.find(" (")});
  return stop == std::string::npos ? out : out.substr(0, stop);
}

// Returns the scenarios of the data folder that name no file: a page may begin with any of them.
Json examples_json(const std::filesystem::path& folder, const ScenarioSources& sources) {
  const NoNamedFiles names_only(kScenarioName, {sources.folders.models, sources.folders.hardware, folder});
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  Json out = Json::array();
  for (const std::filesystem::path& file : files) {
    const std::string text = document_text(file);
    try {
      parse_scenario(Document::from_text(text, kScenarioName), sources);
    } catch (const Error&) {  // a search, a sweep, or a scenario with files of its own
      continue;
    }
    out.push_back({{"name", file.stem().string()}, {"about", first_sentence(text)}, {"text", text}});
  }
  return out;
}

}  // namespace

nlohmann::ordered_json catalogue_json(const ScenarioSources& sources, const std::filesystem::path& data,
                                      std::span<const ImportFile> start) {
  const std::filesystem::path scenarios = data / "scenarios";
  const std::filesystem::path schema = scenarios / "schemas" / "scenario.schema.json";
  Json out = Json::object();
  out["models"] = models_json(sources.folders);
  out["nodes"] = nodes_json(sources.catalog);
  out["frameworks"] = sources.frameworks.names();
  out["schedules"] = schedules_json();
  out["units"] = units_json();
  out["examples"] = examples_json(scenarios, sources);
  const std::string example = document_text(scenarios / kExample);
  out["start"] = start.empty() ? example : given_scenario(start, example, sources).text;
  try {
    out["schema"] = Json::parse(document_text(schema));
  } catch (const Json::exception& error) {
    fail_input({schema.string(), 0, 0}, std::string("this schema is no JSON: ") + error.what());
  }
  return out;
}

}  // namespace mirfak::serve
