#include "scenario/resolved.hpp"

#include "base/units.hpp"
#include "base/yaml.hpp"
#include "model/model_loader.hpp"
#include "scenario/document_lengths.hpp"
#include "scenario/operations_section.hpp"
#include "scenario/search_dimensions.hpp"
#include "scenario/training_section.hpp"
#include "strategy/strategy_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

namespace mirfak {

namespace {

std::string section_yaml(const char* key, const Value& value) {
  Value whole;
  whole.kind = Value::Kind::mapping;
  whole.fields.push_back({key, value});
  return emit_yaml(whole) + "\n";
}

std::string stated_sections(const StatedSetting& stated) {
  return (stated.operations ? section_yaml("operations", *stated.operations) : "") +
         (stated.assertions ? section_yaml("assert", *stated.assertions) : "");
}

std::string model_yaml(const Value& model) {
  if (model.kind == Value::Kind::scalar) return fmt::format("model: {}\n", quoted_yaml(model.scalar));
  return section_yaml("model", model);
}

// True if all groups ask for the same price: then one key for the cluster states it, else one key for each entry.
bool has_one_price(const Cluster& cluster) {
  const auto groups = cluster.groups();
  return std::all_of(groups.begin(), groups.end(),
                     [&](const NodeGroup& group) { return group.price_asked == groups.front().price_asked; });
}

// Writes the ports, or the file with the node's topology.
std::string inside_yaml(const NodeSpec& spec) {
  if (!spec.topology) return fmt::format("ports: {}", spec.ports);
  return fmt::format("topology: {}", quoted_yaml(spec.topology.file)) +
         (spec.topology.own_scale_up ? fmt::format(", scale_up: {}", quoted_yaml(spec.scale_up)) : "");
}

// Returns the megahertz that are read as these hertz, to the bit.
double megahertz_of(double hertz) {
  const double near = hertz / kMegahertz;
  for (const double candidate : {near, std::nextafter(near, 0), std::nextafter(near, 2 * near)}) {
    if (candidate * kMegahertz == hertz) return candidate;
  }
  return near;
}

// Writes clock and power limit. If a cap of the cluster lowers the limit, the lowered limit is written.
std::string clock_yaml(const NodeHardware& node) {
  std::string out = node.spec.clock_hz == 0 ? "" : fmt::format(", clock_mhz: {}", megahertz_of(node.spec.clock_hz));
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

std::string node_yaml(const NodeGroup& group, bool one_price) {
  const NodeSpec& spec = group.hardware.spec;
  const int shared = spec.ranks_per_gpu;
  return fmt::format("    - {{type: {}, count: {}, gpus: {}, {}network: {}, {}{}{}}}\n",
                     quoted_yaml(spec.asked.empty() ? spec.name : spec.asked), group.count, spec.gpus / shared,
                     shared > 1 ? fmt::format("ranks_per_gpu: {}, ", shared) : "", quoted_yaml(spec.network),
                     inside_yaml(spec), clock_yaml(group.hardware), one_price ? "" : ", price: " + group.price_asked);
}

std::string cluster_yaml(const Cluster& cluster) {
  const bool one_price = has_one_price(cluster);
  std::string out = "cluster:\n  nodes:\n";
  for (const NodeGroup& group : cluster.groups()) out += node_yaml(group, one_price);
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

StatedSetting stated_setting(const ScenarioSections& sections, const ScenarioSources& sources) {
  StatedSetting out{independent_model(sections.model_node, sections.model, sources.folders.models), {}, {}};
  if (sections.operations_node) out.operations = independent_operations(*sections.operations_node);
  if (sections.assertions_node) out.assertions = sections.assertions_node->value();
  return out;
}

std::string resolved_setting(const Cluster& cluster, const Value& model) {
  return model_yaml(model) + cluster_yaml(cluster);
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

// Writes the keys of the strategy that a search does not vary.
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
  return resolved_setting(job.cluster, stated.model) + resolved_training(job.training) +
         resolved_strategy(job.strategy) + stated_sections(stated);
}

std::string resolved_search_yaml(const Job& job, const StatedSetting& stated, const SearchSection& search) {
  return resolved_setting(job.cluster, stated.model) + resolved_training(job.training) +
         fixed_strategy_yaml(search.spec.space.others) + search_yaml(search) + stated_sections(stated);
}

}  // namespace mirfak
