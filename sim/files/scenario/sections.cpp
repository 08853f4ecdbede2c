#include "scenario/sections.hpp"

#include "base/file_reference.hpp"
#include "base/suggestion.hpp"
#include "model/model_loader.hpp"
#include "network/fabric_file.hpp"
#include "scenario/operations_section.hpp"
#include "scenario/stated_notes.hpp"
#include "scenario/training_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace mirfak {

namespace {

// Returns the architectures of all GPUs of the catalog and of the cluster, sorted.
std::vector<std::string> known_architectures(const Catalog& catalog, const Cluster& cluster) {
  std::set<std::string> out;
  for (const NodeGroup& group : cluster.groups()) out.insert(group.hardware.gpu.architecture);
  for (const std::string& name : catalog.names(ProfileKind::gpu)) {
    out.insert(catalog.gpu(FileReference(name)).architecture);
  }
  return {out.begin(), out.end()};
}

// Refuses a framework of the user's own that names an architecture which no GPU has ("cudnn@blackwel"). `stated`: where
// the framework is stated. The frameworks of hw_profiles/ are checked by tests, as this reads all GPUs.
void check_architectures(const Node& stated, const Framework& framework, const Catalog& catalog,
                         const Cluster& cluster) {
  if (!stated.is_mapping() && !FileReference(stated).is_path()) return;
  std::vector<std::string> known;
  for (const std::string& kernels : framework.fusion.attention) {
    const std::size_t at = kernels.find('@');
    if (at == std::string::npos) continue;
    if (known.empty()) known = known_architectures(catalog, cluster);
    const std::string architecture = kernels.substr(at + 1);
    if (std::binary_search(known.begin(), known.end(), architecture)) continue;
    stated.fail(fmt::format("fusion.attention: no GPU has the architecture '{}'", architecture),
                suggestion(architecture, known));
  }
}

// Refuses a capture, which is a program already: nothing of it can be divided otherwise.
void refuse_capture(Mapping& root) {
  const std::optional<Node> capture = root.find("capture");
  if (!capture) return;
  capture->fail("a captured program has no model and no strategy that this command could read or change",
                "mirfak simulate, diff, sweep and compare take captures");
}

// Reads all sections except the cluster, which has been read.
ScenarioSections read_beside(const Document& document, Mapping& root, Cluster cluster, const ScenarioSources& sources) {
  static const Value nothing;
  const Node model_node = root.require("model");
  const std::filesystem::path& models = sources.folders.models;
  ModelSpec model = model_node.is_mapping() ? parse_model(model_node, models)
                                            : load_model(model_node.as_string(), models, model_node.where());
  const FrameworkCatalog& frameworks = sources.frameworks;
  const Node training_node = root.require("training");
  TrainingSpec training = read_training(training_node, model, frameworks);
  Framework framework = frameworks.framework(training.framework);
  if (const Value* stated = training_node.value().find("framework"); stated != nullptr) {
    check_architectures(training_node.child(*stated, "framework"), framework, sources.catalog, cluster);
  }
  const std::optional<Node> strategy = root.find_or_null("strategy");
  std::optional<Node> search = root.find_or_null("search");
  const std::optional<Node> operations_node = root.find_or_null("operations");
  std::optional<Operations> operations;
  if (operations_node) operations = read_operations(*operations_node, cluster, sources);
  const std::optional<Node> assertions = root.find_or_null("assert");
  const std::optional<Node> notes = root.find_or_null("notes");
  read_notes(notes);
  root.finish();
  return {model_node,           std::move(model),
          std::move(cluster),   std::move(training),
          std::move(framework), strategy ? *strategy : Node(document, nothing, "strategy"),
          std::move(search),    std::move(operations),
          operations_node,      assertions ? read_assertions(*assertions) : Assertions{},
          assertions,           notes};
}

}  // namespace

ScenarioSections read_sections(const Document& document, const ScenarioSources& sources) {
  Mapping root{Node(document)};
  if (const std::optional<Node> jobs = root.find("jobs")) {
    jobs->fail("several jobs on one cluster: only mirfak simulate reads such a file", "name the scenario of one job");
  }
  refuse_capture(root);
  root.require("model");
  const Node section = root.require("cluster");
  return read_beside(document, root, with_network_files(read_cluster(section, sources.catalog)), sources);
}

ScenarioSections read_sections(const Document& document, const Cluster& cluster, const ScenarioSources& sources) {
  Mapping root{Node(document)};
  refuse_capture(root);
  return read_beside(document, root, cluster, sources);
}

// Returns the place of "strategy.tensor", or "strategy.stages[1]", in the document, or the nearest mapping around it.
Node locate(const Document& document, std::string_view path) {
  Node node(document);
  while (!path.empty() && node.is_mapping()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const std::string_view key = path.substr(0, dot);
    const std::size_t bracket = std::min(key.find('['), key.size());
    const Value* value = node.value().find(key.substr(0, bracket));
    if (value == nullptr) break;
    node = node.child(*value, key.substr(0, bracket));
    if (bracket < key.size()) {
      std::size_t place = 0;
      std::from_chars(key.data() + bracket + 1, key.data() + key.size(), place);
      if (node.value().kind != Value::Kind::sequence) break;
      const std::vector<Node> items = node.as_items();
      if (place >= items.size()) break;
      node = items[place];
    }
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

}  // namespace mirfak
