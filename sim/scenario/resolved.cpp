#include "scenario/resolved.hpp"

#include "base/units.hpp"
#include "base/yaml.hpp"
#include "cluster/catalog.hpp"
#include "scenario/document_lengths.hpp"
#include "scenario/search_dimensions.hpp"
#include "scenario/training_section.hpp"
#include "strategy/strategy_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

namespace mirfak {

namespace {

// A section as it is stated.
std::string section_yaml(const char* key, const Value& value) {
  Value whole;
  whole.kind = Value::Kind::mapping;
  whole.fields.push_back({key, value});
  return emit_yaml(whole) + "\n";
}

std::string stated_sections(const StatedSetting& stated) {
  return (stated.operations ? section_yaml("operations", stated.operations->value()) : "") +
         (stated.assertions ? section_yaml("assert", stated.assertions->value()) : "");
}

std::string model_yaml(const Node& model) {
  if (!model.is_mapping()) return fmt::format("model: {}\n", quoted_yaml(model.as_string()));
  return section_yaml("model", model.value());
}

// Whether all groups ask for the same price: one key for the cluster says it, else one for each entry.
bool has_one_price(const Cluster& cluster) {
  const auto groups = cluster.groups();
  return std::all_of(groups.begin(), groups.end(),
                     [&](const NodeGroup& group) { return group.price_asked == groups.front().price_asked; });
}

// The paths in an entry of `cluster.nodes`.
struct StatedNode {
  std::string name;  // of the node type
  std::optional<std::filesystem::path> type;
  std::optional<std::filesystem::path> network;
  std::optional<std::filesystem::path> scale_up;
};

std::optional<std::filesystem::path> absolute_path(const FileReference& reference) {
  if (!reference.is_path()) return std::nullopt;
  return reference.independent();
}

std::vector<StatedNode> stated_nodes(const Node& cluster) {
  std::vector<StatedNode> out;
  for (const Node& entry : Mapping(cluster).require("nodes").as_items()) {
    Mapping keys(entry);
    const FileReference type(keys.require("type"));
    StatedNode node{type.is_path() ? type.path().stem().string() : type.name(), absolute_path(type), {}, {}};
    if (const std::optional<Node> network = keys.find("network")) node.network = absolute_path(*network);
    if (const std::optional<Node> scale_up = keys.find("scale_up")) node.scale_up = absolute_path(*scale_up);
    out.push_back(std::move(node));
  }
  return out;
}

// How the network of a group is asked for: profiles name links relative to themselves.
std::string network_of(const NodeSpec& spec, const StatedNode& stated) {
  if (stated.network) return stated.network->string();
  if (!stated.type || !FileReference(spec.network).is_path()) return spec.network;
  return (stated.type->parent_path() / spec.network).lexically_normal().string();
}

// Ports, or the file that says how many there are.
std::string inside_yaml(const NodeSpec& spec, const StatedNode& stated) {
  if (!spec.topology) return fmt::format("ports: {}", spec.ports);
  const std::string link = stated.scale_up ? stated.scale_up->string() : spec.scale_up;
  return fmt::format("topology: {}", quoted_yaml(spec.topology.file)) +
         (spec.topology.own_scale_up ? fmt::format(", scale_up: {}", quoted_yaml(link)) : "");
}

// Clock and power limit. What a cap of the cluster leaves of a limit is that limit.
std::string clock_yaml(const NodeHardware& node) {
  std::string out = node.spec.clock_hz == 0 ? "" : fmt::format(", clock_mhz: {}", node.spec.clock_hz / kMegahertz);
  if (node.gpu.power_limit_w > 0) out += fmt::format(", gpu_power_limit_w: {}", node.gpu.power_limit_w);
  return out;
}

std::string facility_yaml(const Facility& facility) {
  std::string out;
  if (facility.network_power_w > 0) out += fmt::format("  network_power_w: {}\n", facility.network_power_w);
  if (facility.cooling_power_w > 0) out += fmt::format("  cooling_power_w: {}\n", facility.cooling_power_w);
  if (facility.asked) out += fmt::format("  pue: {}\n", facility.pue);
  if (!facility.carbon_asked.empty()) out += fmt::format("  carbon_g_per_kwh: {}\n", facility.carbon_asked);
  if (facility.lifetime_years == 0) return out;
  return out + fmt::format("  embodied: {{kg_per_gpu: {}, lifetime_years: {}}}\n", facility.embodied_kg_per_gpu,
                           facility.lifetime_years);
}

std::string cluster_yaml(const Cluster& cluster, const Node& section) {
  const std::vector<StatedNode> nodes = stated_nodes(section);
  const bool one_price = has_one_price(cluster);
  std::string out = "cluster:\n  nodes:\n";
  for (const NodeGroup& group : cluster.groups()) {
    const NodeSpec& spec = group.hardware.spec;
    const auto found =
        std::find_if(nodes.begin(), nodes.end(), [&](const StatedNode& node) { return node.name == spec.name; });
    const StatedNode stated = found == nodes.end() ? StatedNode{spec.name, {}, {}, {}} : *found;
    const int shared = spec.ranks_per_gpu;
    out += fmt::format("    - {{type: {}, count: {}, gpus: {}, {}network: {}, {}{}{}}}\n",
                       quoted_yaml(stated.type ? stated.type->string() : spec.name), group.count, spec.gpus / shared,
                       shared > 1 ? fmt::format("ranks_per_gpu: {}, ", shared) : "",
                       quoted_yaml(network_of(spec, stated)), inside_yaml(spec, stated), clock_yaml(group.hardware),
                       one_price ? "" : ", price: " + group.price_asked);
  }
  out += fmt::format("  fabric: {}\n", fabric_yaml(cluster.fabric()));
  out += cluster.perturbations().yaml();
  out += facility_yaml(cluster.facility());
  return one_price ? out + fmt::format("  price: {}\n", cluster.groups().front().price_asked) : out;
}

std::string adapters_yaml(const LowRankAdapters& adapters) {
  std::vector<std::string_view> targets;
  if (adapters.query_key_value) targets.emplace_back("qkv");
  if (adapters.attention_output) targets.emplace_back("proj");
  if (adapters.mlp_up) targets.emplace_back("fc1");
  if (adapters.mlp_down) targets.emplace_back("fc2");
  return fmt::format("  lora: {{rank: {}, targets: [{}], dropout: {}}}\n", adapters.rank, fmt::join(targets, ", "),
                     adapters.dropout);
}

std::string cuda_graphs_text(const CudaGraphs& graphs) {
  std::vector<std::string> scopes;
  if (graphs.attention) scopes.emplace_back("attention");
  if (graphs.mlp) scopes.emplace_back("mlp");
  if (graphs.router) scopes.emplace_back("router");
  if (graphs.iteration) scopes.emplace_back("full");
  return fmt::format("{}", fmt::join(scopes, ", "));
}

}  // namespace

std::string resolved_setting(const Cluster& cluster, const StatedSetting& stated) {
  return model_yaml(stated.model) + cluster_yaml(cluster, stated.cluster);
}

std::string resolved_training(const TrainingSpec& training) {
  const bool path = training.framework.starts_with('/');
  std::string out = fmt::format(
      "training:\n  global_batch: {}\n  sequence_length: {}\n  precision: {}\n  framework: {}\n", training.global_batch,
      training.sequence_length, training.precision, path ? quoted_yaml(training.framework) : training.framework);
  if (!training.documents.empty()) out += document_lengths_yaml(training.documents);
  if (training.cuda_graphs.any()) out += fmt::format("  cuda_graphs: [{}]\n", cuda_graphs_text(training.cuda_graphs));
  if (training.blocking_launches) out += "  blocking_launches: true\n";
  if (training.fp8_parameters) out += "  fp8_parameters: true\n";
  if (training.fp8_activation_input) out += "  fp8_activation_input: true\n";
  if (training.adapters.rank > 0) out += adapters_yaml(training.adapters);
  if (!training.gradient_precision.empty()) {
    out += fmt::format("  gradient_precision: {}\n", training.gradient_precision);
  }
  out += fmt::format("  optimizer: {}\n", optimizer_names()[static_cast<std::size_t>(training.optimizer)]);
  if (training.tokens > 0) out += fmt::format("  tokens: {}\n", training.tokens);
  return out;
}

namespace {

template <typename Wanted>
std::string section_of(const Strategy& strategy, const Wanted& wanted) {
  std::string out = "strategy:\n";
  for (const StrategyKey& key : strategy_keys()) {
    if (key.left_out(strategy) || !wanted(key)) continue;
    fmt::format_to(std::back_inserter(out), "  {}: {}\n", key.key, key.text(strategy));
  }
  return out;
}

// What a search leaves as it is.
std::string fixed_strategy_yaml(const Strategy& strategy) {
  return section_of(strategy, [&](const StrategyKey& key) {
    const auto dimensions = search_dimensions();
    const bool varied =
        std::any_of(dimensions.begin(), dimensions.end(), [&](const SearchDimension& of) { return of.key == key.key; });
    const bool shaped = key.key == "stages" && !strategy.stages.empty();
    return shaped || (!varied && key.key != "data" && key.chosen.message.empty());
  });
}

}  // namespace

std::string resolved_strategy(const Strategy& strategy) {
  return section_of(strategy, [&](const StrategyKey& key) { return key.means_something(strategy); });
}

std::string resolved_yaml(const Job& job, const StatedSetting& stated) {
  return resolved_setting(job.cluster, stated) + resolved_training(job.training) + resolved_strategy(job.strategy) +
         stated_sections(stated);
}

std::string resolved_search_yaml(const Job& job, const StatedSetting& stated, const SearchSection& search) {
  return resolved_setting(job.cluster, stated) + resolved_training(job.training) +
         fixed_strategy_yaml(search.spec.space.others) + search_yaml(search) + stated_sections(stated);
}

}  // namespace mirfak
