#include "scenario/resolved.hpp"

#include "base/yaml.hpp"
#include "cluster/catalog.hpp"
#include "scenario/search_dimensions.hpp"
#include "scenario/training_section.hpp"
#include "schedule/schedule.hpp"
#include "strategy/strategy_names.hpp"

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

std::string model_yaml(const Node& model) {
  if (!model.is_mapping()) return fmt::format("model: {}\n", quoted_yaml(model.as_string()));
  Value whole;
  whole.kind = Value::Kind::mapping;
  whole.fields.push_back({"model", model.value()});
  return emit_yaml(whole) + "\n";
}

// The choice that the prices were found by; all groups have the same. Nothing when no GPU has a price.
std::string price_yaml(const Cluster& cluster) {
  for (const NodeGroup& group : cluster.groups()) {
    if (!group.price) continue;
    const std::string& kind = price_kind_names()[static_cast<std::size_t>(group.price->kind)];
    const bool median = group.price->provider == "median";
    return fmt::format("  price: {}\n", median ? kind : group.price->provider + "/" + kind);
  }
  return {};
}

// The paths in an entry of `cluster.nodes`.
struct StatedNode {
  std::string name;  // of the node type
  std::optional<std::filesystem::path> type;
  std::optional<std::filesystem::path> network;
};

std::optional<std::filesystem::path> absolute_path(const ProfileReference& reference) {
  if (!reference.is_path()) return std::nullopt;
  return std::filesystem::absolute(reference.path()).lexically_normal();
}

std::vector<StatedNode> stated_nodes(const Node& cluster) {
  std::vector<StatedNode> out;
  for (const Node& entry : Mapping(cluster).require("nodes").as_items()) {
    Mapping keys(entry);
    const ProfileReference type(keys.require("type"));
    StatedNode node{type.is_path() ? type.path().stem().string() : type.name(), absolute_path(type), {}};
    if (const std::optional<Node> network = keys.find("network")) node.network = absolute_path(*network);
    out.push_back(std::move(node));
  }
  return out;
}

// How the network of a group is asked for: profiles name links relative to themselves.
std::string network_of(const NodeSpec& spec, const StatedNode& stated) {
  if (stated.network) return stated.network->string();
  if (!stated.type || !ProfileReference(spec.network).is_path()) return spec.network;
  return (stated.type->parent_path() / spec.network).lexically_normal().string();
}

std::string cluster_yaml(const Cluster& cluster, const Node& section) {
  const std::vector<StatedNode> nodes = stated_nodes(section);
  std::string out = "cluster:\n  nodes:\n";
  for (const NodeGroup& group : cluster.groups()) {
    const NodeSpec& spec = group.hardware.spec;
    const auto found =
        std::find_if(nodes.begin(), nodes.end(), [&](const StatedNode& node) { return node.name == spec.name; });
    const StatedNode stated = found == nodes.end() ? StatedNode{spec.name, {}, {}} : *found;
    const int shared = spec.ranks_per_gpu;
    out += fmt::format("    - {{type: {}, count: {}, gpus: {}, {}network: {}, ports: {}}}\n",
                       quoted_yaml(stated.type ? stated.type->string() : spec.name), group.count, spec.gpus / shared,
                       shared > 1 ? fmt::format("ranks_per_gpu: {}, ", shared) : "",
                       quoted_yaml(network_of(spec, stated)), spec.ports);
  }
  const Fabric& fabric = cluster.fabric();
  out += fmt::format("  fabric: {{type: {}, oversubscription: {}, leaf_ports: {}, in_network_reduction: {}}}\n",
                     fabric_names()[static_cast<std::size_t>(fabric.type)], fabric.oversubscription, fabric.leaf_ports,
                     fabric.in_network_reduction);
  return out + price_yaml(cluster);
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

std::vector<std::string> names_of(ModuleSet modules) {
  std::vector<std::string> names;
  for (std::size_t module = 0; module < kModules; ++module) {
    if (modules.test(module)) names.push_back(module_names()[module]);
  }
  return names;
}

}  // namespace

std::string resolved_setting(const Cluster& cluster, const StatedSetting& stated) {
  return model_yaml(stated.model) + cluster_yaml(cluster, stated.cluster);
}

std::string resolved_training(const TrainingSpec& training) {
  std::string out =
      fmt::format("training:\n  global_batch: {}\n  sequence_length: {}\n  precision: {}\n  framework: {}\n",
                  training.global_batch, training.sequence_length, training.precision, training.framework);
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

struct Line {
  std::string_view key;
  std::string value;
};

// The keys of a strategy that mean something, or would with another value of another key.
std::vector<Line> strategy_lines(const Strategy& s) {
  std::vector<Line> out;
  const auto line = [&](std::string_view key, const auto& value) { out.push_back({key, fmt::format("{}", value)}); };
  line("tensor", s.tensor);
  line("context", s.context);
  line("context_communication", context_communication_names()[static_cast<std::size_t>(s.context_communication)]);
  line("expert", s.expert);
  line("expert_tensor", s.tensor_of_experts());
  line("expert_dispatcher", expert_dispatcher_names()[static_cast<std::size_t>(s.expert_dispatcher)]);
  line("overlap_expert", s.overlap_expert);
  line("pipeline", s.pipeline);
  line("virtual_pipeline", s.virtual_pipeline);
  line("data", s.data);
  line("micro_batch", s.micro_batch);
  if (s.microbatch_group > 0) line("microbatch_group", s.microbatch_group);
  line("schedule", schedule_of(s.schedule).name);
  line("sequence_parallel", s.sequence_parallel);
  line("recompute", recompute_names()[static_cast<std::size_t>(s.recompute)]);
  line("recompute_modules", fmt::format("[{}]", fmt::join(names_of(s.recompute_modules), ", ")));
  line("recompute_method", recompute_method_names()[static_cast<std::size_t>(s.recompute_method)]);
  if (s.recompute_layers > 0) line("recompute_layers", s.recompute_layers);
  if (s.offload_layers > 0) line("offload_layers", s.offload_layers);
  if (s.offload_optimizer > 0) line("offload_optimizer", s.offload_optimizer);
  line("zero", s.zero);
  if (s.zero_group > 0) line("zero_group", s.zero_group);
  line("overlap_tensor", s.overlap_tensor);
  line("overlap_grad_reduce", s.overlap_grad_reduce);
  line("overlap_param_gather", s.overlap_param_gather);
  if (!s.layer_split.empty()) line("layer_split", fmt::format("[{}]", fmt::join(s.layer_split, ", ")));
  if (!s.replica_microbatches.empty()) {
    line("replica_microbatches", fmt::format("[{}]", fmt::join(s.replica_microbatches, ", ")));
  }
  return out;
}

template <typename Wanted>
std::string section_of(const Strategy& s, const Wanted& wanted) {
  std::string out = "strategy:\n";
  for (const Line& line : strategy_lines(s)) {
    if (wanted(line.key)) fmt::format_to(std::back_inserter(out), "  {}: {}\n", line.key, line.value);
  }
  return out;
}

std::string fixed_strategy_yaml(const Strategy& s) {
  return section_of(s, [](std::string_view key) {
    const auto dimensions = search_dimensions();
    const bool varied =
        std::any_of(dimensions.begin(), dimensions.end(), [&](const SearchDimension& of) { return of.key == key; });
    return !varied && key != "data" && key != "layer_split" && key != "replica_microbatches";
  });
}

}  // namespace

std::string resolved_strategy(const Strategy& s) {
  return section_of(s, [&](std::string_view key) {
    if (key == "recompute_modules") return s.recompute == Recompute::selective;
    if (key == "recompute_method") return s.recompute_method != RecomputeMethod::block;
    return key != "overlap_param_gather" || s.zero == 1 || s.zero == 2;
  });
}

std::string resolved_yaml(const Job& job, const StatedSetting& stated) {
  return resolved_setting(job.cluster, stated) + resolved_training(job.training) + resolved_strategy(job.strategy);
}

std::string resolved_search_yaml(const Job& job, const StatedSetting& stated, const SearchSection& search) {
  return resolved_setting(job.cluster, stated) + resolved_training(job.training) +
         fixed_strategy_yaml(search.spec.space.others) + search_yaml(search);
}

}  // namespace mirfak
