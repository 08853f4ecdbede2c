#include "import/cluster_knowledge.hpp"

#include "base/document.hpp"
#include "launch/option_list.hpp"

#include <algorithm>
#include <cctype>

namespace mirfak {

namespace {

using GpuNames = std::map<std::string, std::vector<std::string>>;

std::string plain_name(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char letter) {
    return letter == '_' || letter == ' ' ? '-' : static_cast<char>(std::tolower(letter));
  });
  return out;
}

GpuNames read_gpu_names(const Node& node) {
  GpuNames out;
  Mapping all(node);
  for (const std::string& name : all.keys()) {
    for (const Node& gpu : all.require(name).as_items()) out[name].push_back(gpu.as_string());
  }
  return out;
}

const std::vector<std::string>* meant_gpus(const ClusterKnowledge& knowledge, const std::string& name, bool rented) {
  const auto found = [&](const GpuNames& names) -> const std::vector<std::string>* {
    const auto at = names.find(name);
    return at == names.end() ? nullptr : &at->second;
  };
  const std::vector<std::string>* const special = rented ? found(knowledge.rented_gpus) : nullptr;
  return special != nullptr ? special : found(knowledge.gpus);
}

bool is_instance(const ClusterKnowledge& knowledge, const std::string& known, std::string_view asked) {
  if (plain_name(asked) == plain_name(known)) return true;
  return std::any_of(knowledge.instance_prefixes.begin(), knowledge.instance_prefixes.end(),
                     [&](const std::string& prefix) { return plain_name(asked) == plain_name(prefix + known); });
}

// True if a type of node is offered by the cloud, or, without a cloud, if the type is not rented out.
bool is_offered(const ClusterKnowledge& knowledge, const NodeSpec& node, const std::optional<std::string>& cloud) {
  if (cloud && cloud->empty()) return true;
  const auto known = cloud ? knowledge.clouds.find(*cloud) : knowledge.clouds.end();
  if (known == knowledge.clouds.end() || known->second.empty()) return node.instance.empty();
  return node.name.starts_with(known->second);
}

// Returns the types with this GPU: those of the GPUs that the name stands for; for an unlisted name, types with exactly
// this GPU, else types whose GPU's name begins with it.
std::vector<std::string> types_of_gpu(const std::vector<NodeSpec>& nodes, const ClusterKnowledge& knowledge,
                                      const std::string& asked, bool rented) {
  const std::string gpu = plain_name(asked);
  const std::vector<std::string>* const meant = meant_gpus(knowledge, gpu, rented);
  std::vector<std::string> exact;
  std::vector<std::string> like;
  for (const NodeSpec& node : nodes) {
    const bool is =
        meant != nullptr ? std::find(meant->begin(), meant->end(), node.gpu) != meant->end() : node.gpu == gpu;
    if (is) exact.push_back(node.name);
    if (node.gpu.starts_with(gpu)) like.push_back(node.name);
  }
  return !exact.empty() || meant != nullptr ? exact : like;
}

std::vector<std::string> types_of_features(const std::vector<NodeSpec>& nodes, const ClusterKnowledge& knowledge,
                                           const NodeWish& wish) {
  for (const std::string& feature : wish.features) {
    if (feature.empty() || !wish.gpu.empty()) continue;
    const std::string name = plain_name(feature);
    const auto is_gpu = [&](const NodeSpec& node) { return node.gpu == name; };
    if (meant_gpus(knowledge, name, false) != nullptr || std::any_of(nodes.begin(), nodes.end(), is_gpu))
      return types_of_gpu(nodes, knowledge, feature, false);
  }
  return {};
}

}  // namespace

ClusterKnowledge read_cluster_knowledge(const std::filesystem::path& hardware) {
  const Document& document = launch_facts(hardware, "clusters");
  Mapping root((Node(document)));
  root.ignore("source");
  ClusterKnowledge out;
  out.gpus = read_gpu_names(root.require("gpus"));
  out.rented_gpus = read_gpu_names(root.require("rented_gpus"));
  Mapping clouds(root.require("clouds"));
  for (const std::string& name : clouds.keys()) out.clouds[name] = clouds.require(name).as_string();
  for (const Node& prefix : root.require("instance_prefixes").as_items())
    out.instance_prefixes.push_back(prefix.as_string());
  Mapping links(root.require("nvlinks"));
  for (const std::string& name : links.keys()) out.nvlinks[name] = links.require(name).as_integer(1, 1024);
  root.finish();
  return out;
}

std::vector<std::string> fitting_types(const Catalog& catalog, const ClusterKnowledge& knowledge,
                                       const NodeWish& wish) {
  std::vector<NodeSpec> offered;
  for (const std::string& name : catalog.names(ProfileKind::node)) {
    const std::vector<NodeHardware> kinds = catalog.node_kinds(FileReference(name));
    if (kinds.size() > 1) continue;  // what is read names one kind of GPU
    const NodeSpec& node = kinds.front().spec;
    const bool rented = !wish.instance.empty() && is_instance(knowledge, node.instance, wish.instance);
    if (rented && !node.instance.empty()) return {name};
    if (wish.gpus && node.gpus != *wish.gpus) continue;
    const bool named = !node.instance.empty() && wish.instance.empty() &&
                       std::any_of(wish.features.begin(), wish.features.end(), [&](const std::string& feature) {
                         return is_instance(knowledge, node.instance, feature);
                       });
    if (named) return {name};
    if (std::find(wish.features.begin(), wish.features.end(), name) != wish.features.end()) return {name};
    if (is_offered(knowledge, node, wish.cloud)) offered.push_back(node);
  }
  if (!wish.instance.empty()) return {};
  if (wish.gpu.empty()) return types_of_features(offered, knowledge, wish);
  return types_of_gpu(offered, knowledge, wish.gpu, wish.cloud.has_value());
}

}  // namespace mirfak
