#include "scenario/resolved.hpp"

#include "base/units.hpp"
#include "base/yaml.hpp"
#include "cluster/disk_rates.hpp"
#include "model/model_loader.hpp"
#include "scenario/operations_section.hpp"
#include "scenario/search_dimensions.hpp"
#include "scenario/training_section.hpp"
#include "strategy/strategy_keys.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

namespace mirfak {

namespace {

// True if all groups ask for the same price: then one key for the cluster states it, else one key for each entry.
bool has_one_price(const Cluster& cluster) {
  const auto groups = cluster.groups();
  return std::all_of(groups.begin(), groups.end(),
                     [&](const NodeGroup& group) { return group.price_asked == groups.front().price_asked; });
}

Value price_value(const NodeGroup& group) { return parse_yaml(group.price_asked, "cluster.price"); }

// Returns what a node's kinds of GPU state: one value if all state the same, else a list.
template <typename Of>
Value of_kinds(std::span<const NodeGroup> node, const Of& of) {
  const auto same = [&](const NodeGroup& kind) { return emit_flow_yaml(of(kind)) == emit_flow_yaml(of(node.front())); };
  if (std::all_of(node.begin(), node.end(), same)) return of(node.front());
  Value out = list_value();
  for (const NodeGroup& kind : node) out.items.push_back(of(kind));
  return out;
}

// Returns the megahertz that are read as these hertz, to the bit.
double megahertz_of(double hertz) {
  const double near = hertz / kMegahertz;
  for (const double candidate : {near, std::nextafter(near, 0), std::nextafter(near, 2 * near)}) {
    if (candidate * kMegahertz == hertz) return candidate;
  }
  return near;
}

// `node`: a group for each kind of its GPUs.
Value node_value(std::span<const NodeGroup> node, bool one_price) {
  const NodeGroup& group = node.front();
  const NodeSpec& spec = group.hardware.spec;
  const int shared = spec.ranks_per_gpu;
  Value out = mapping_value();
  const auto add = [&](const char* key, Value value) { out.fields.push_back({key, std::move(value)}); };
  const bool stated = spec.asked.starts_with('{');  // as keys of its own
  add("type",
      stated ? parse_yaml(spec.asked, "cluster.nodes") : quoted_value(spec.asked.empty() ? spec.name : spec.asked));
  add("count", scalar_value(group.count));
  add("gpus", scalar_value(spec.gpus / shared));
  if (shared > 1) add("ranks_per_gpu", scalar_value(shared));
  add("network", quoted_value(spec.network));
  if (!spec.topology) add("ports", scalar_value(spec.ports));
  if (spec.topology) add("topology", quoted_value(spec.topology.file));
  if (spec.topology && spec.topology.own_scale_up) add("scale_up", quoted_value(spec.scale_up));
  if (spec.cooling != Cooling::as_built) {
    add("cooling", word_value(cooling_names()[static_cast<std::size_t>(spec.cooling)]));
  }
  if (spec.feed != Feed::as_built) add("feed", word_value(feed_names()[static_cast<std::size_t>(spec.feed)]));
  const auto any = [&](const auto& is) { return std::any_of(node.begin(), node.end(), is); };
  if (any([](const NodeGroup& kind) { return kind.hardware.spec.clock_hz > 0; })) {
    add("clock_mhz", of_kinds(node, [](const NodeGroup& kind) {
          const NodeHardware& on = kind.hardware;
          return scalar_value(megahertz_of(on.spec.clock_hz > 0 ? on.spec.clock_hz : on.gpu.clock_max_hz.value));
        }));
  }
  // If a cap of the cluster lowers the limit, this is the lowered limit.
  if (any([](const NodeGroup& kind) { return kind.hardware.gpu.power_limit_w > 0; })) {
    add("gpu_power_limit_w",
        of_kinds(node, [](const NodeGroup& kind) { return scalar_value(kind.hardware.gpu.limit_w()); }));
  }
  for (const DiskRate& rate : kDiskRates) {
    const std::optional<Figure>& figure = spec.*rate.figure;
    if (figure && figure->source.empty()) add(rate.key, scalar_value(figure->value));  // as the entry states it
  }
  if (!one_price) add("price", of_kinds(node, price_value));
  return out;
}

void add_fields(Value& out, Value mapping) {
  std::move(mapping.fields.begin(), mapping.fields.end(), std::back_inserter(out.fields));
}

void add_facility(Value& out, const Facility& facility) {
  const auto add = [&](const char* key, Value value) { out.fields.push_back({key, std::move(value)}); };
  if (facility.power_floor) {
    const PowerFloor& floor = *facility.power_floor;
    Value stated = mapping_value();
    if (floor.share > 0) stated.fields.push_back({"share", scalar_value(floor.share)});
    if (floor.ramp_down_w_per_s > 0)
      stated.fields.push_back({"ramp_down_w_per_s", scalar_value(floor.ramp_down_w_per_s)});
    if (floor.ramp_up_w_per_s > 0) stated.fields.push_back({"ramp_up_w_per_s", scalar_value(floor.ramp_up_w_per_s)});
    if (floor.ramp_up_slows_work) stated.fields.push_back({"ramp_up_slows_work", scalar_value(true)});
    if (floor.slowdown > 0) stated.fields.push_back({"slowdown", scalar_value(floor.slowdown)});
    add("power_floor", std::move(stated));
  }
  if (facility.staggered_replicas) {
    add("staggered_replicas", mapping_value({{"groups", scalar_value(facility.staggered_replicas->groups)},
                                             {"step_s", scalar_value(facility.staggered_replicas->step_s)}}));
  }
  if (facility.network_power_w > 0) add("network_power_w", scalar_value(facility.network_power_w));
  if (facility.cooling_power_w > 0) add("cooling_power_w", scalar_value(facility.cooling_power_w));
  if (facility.asked) add("pue", scalar_value(facility.pue));
  if (!facility.carbon_asked.empty()) add("carbon_g_per_kwh", parse_yaml(facility.carbon_asked, "cluster"));
  if (facility.lifetime_years == 0) return;
  add("embodied", mapping_value({{"kg_per_gpu", scalar_value(facility.embodied_kg_per_gpu)},
                                 {"lifetime_years", scalar_value(facility.lifetime_years)}}));
}

Value cluster_value(const Cluster& cluster) {
  const bool one_price = has_one_price(cluster);
  Value nodes = list_value();
  const std::vector<NodeGroup> kinds = cluster.kinds();
  for (auto begin = kinds.begin(); begin != kinds.end();) {
    const auto end = std::find_if(begin + 1, kinds.end(), [](const NodeGroup& kind) { return kind.nodes() > 0; });
    nodes.items.push_back(node_value({begin, end}, one_price));
    begin = end;
  }
  Value out = mapping_value(
      {{"nodes", std::move(nodes)}, {"fabric", parse_yaml(fabric_yaml(cluster.fabric()), "cluster.fabric")}});
  add_fields(out, parse_yaml(cluster.perturbations().yaml(), "cluster.perturbations"));
  add_facility(out, cluster.facility());
  if (one_price) out.fields.push_back({"price", price_value(cluster.groups().front())});
  return out;
}

Value one_section(std::string key, Value value) {
  Value out = mapping_value();
  out.fields.push_back({std::move(key), std::move(value)});
  return out;
}

template <typename Wanted>
Value strategy_value(const Strategy& strategy, const Wanted& wanted) {
  Value out = mapping_value();
  out.fields.reserve(strategy_keys().size());
  for (const StrategyKey& key : strategy_keys()) {
    if (!key.left_out(strategy) && wanted(key)) out.fields.push_back({std::string(key.key), key.value(strategy)});
  }
  return one_section("strategy", std::move(out));
}

// Returns the keys of the strategy that a search does not vary.
Value fixed_strategy(const Strategy& strategy) {
  return strategy_value(strategy, [&](const StrategyKey& key) {
    const auto dimensions = search_dimensions();
    const bool varied =
        std::any_of(dimensions.begin(), dimensions.end(), [&](const SearchDimension& of) { return of.key == key.key; });
    const bool shaped = key.key == "stages" && !strategy.stages.empty();
    return shaped || (!varied && key.key != "data" && key.chosen.message.empty());
  });
}

// Returns the scenario of a job with these sections in place of its strategy.
Value completed(const Job& job, const StatedSetting& stated, Value strategy) {
  Value out = completed_setting(job.cluster, stated.model);
  add_fields(out, completed_training(job.training));
  add_fields(out, std::move(strategy));
  add_fields(out, stated.beside);
  return out;
}

void add_keys_left_out(const Value& completed, const Value* stated, const std::string& path,
                       std::vector<std::string>& keys) {
  if (completed.kind != Value::Kind::mapping) {
    if (stated == nullptr) keys.push_back(path);
    return;
  }
  for (const auto& [key, value] : completed.fields) {
    const bool inside = stated != nullptr && stated->kind == Value::Kind::mapping;
    add_keys_left_out(value, inside ? stated->find(key) : nullptr, path.empty() ? key : path + '.' + key, keys);
  }
}

// True if the text has a line for each entry of this value.
bool has_lines(const std::string& path, const Value& value) {
  static const std::set<std::string, std::less<>> mappings = {"cluster",
                                                              "cluster.perturbations",
                                                              "cluster.perturbations.ranks",
                                                              "cluster.perturbations.nodes",
                                                              "cluster.perturbations.iterations",
                                                              "cluster.perturbations.jitter",
                                                              "training",
                                                              "strategy",
                                                              "search",
                                                              "search.space"};
  static const std::set<std::string, std::less<>> lists = {"cluster.nodes", "cluster.perturbations.ranks",
                                                           "cluster.perturbations.links"};
  return (value.kind == Value::Kind::mapping && mappings.contains(path)) ||
         (value.kind == Value::Kind::sequence && lists.contains(path));
}

// `parent`: path of the mapping that the field is in.
void add_lines(const Value::Field& field, const std::string& parent, std::size_t indent, std::string& out) {
  const bool scalar = field.value.kind == Value::Kind::scalar;
  const std::string path = scalar || parent.empty() ? field.key : parent + '.' + field.key;
  out.append(indent, ' ').append(field.key);
  if (scalar || !has_lines(path, field.value)) {
    out.append(": ").append(line_of(field.value)) += '\n';
    return;
  }
  out += ":\n";
  for (const Value& item : field.value.items) out.append(indent, ' ').append("  - ").append(line_of(item)) += '\n';
  for (const Value::Field& inner : field.value.fields) add_lines(inner, path, indent + 2, out);
}

}  // namespace

StatedSetting stated_setting(const ScenarioSections& sections, const ScenarioSources& sources) {
  StatedSetting out{independent_model(sections.model_node, sections.model, sources.folders.models), mapping_value()};
  const auto add = [&](const char* key, Value value) { out.beside.fields.push_back({key, std::move(value)}); };
  if (sections.operations_node) add("operations", independent_operations(*sections.operations_node));
  if (sections.assertions_node) add("assert", sections.assertions_node->value());
  if (sections.notes_node) add("notes", sections.notes_node->value());
  return out;
}

Value completed_setting(const Cluster& cluster, const Value& model) {
  const bool named = model.kind == Value::Kind::scalar;
  return mapping_value({{"model", named ? quoted_value(model.scalar) : model}, {"cluster", cluster_value(cluster)}});
}

Value completed_cluster(const Cluster& cluster) { return one_section("cluster", cluster_value(cluster)); }

Value completed_training(const TrainingSpec& training) {
  return one_section("training", training_fields().value(training));
}

Value completed_strategy(const Strategy& strategy) {
  return strategy_value(strategy, [&](const StrategyKey& key) { return key.means_something(strategy); });
}

Value completed_scenario(const Job& job, const StatedSetting& stated) {
  return completed(job, stated, completed_strategy(job.strategy));
}

Value completed_search(const Job& job, const StatedSetting& stated, const SearchSection& search) {
  Value strategy = fixed_strategy(search.spec.space.others);
  strategy.fields.push_back({"search", search_value(search)});
  return completed(job, stated, std::move(strategy));
}

std::string completed_yaml(const Value& root) {
  std::string out;
  for (const Value::Field& section : root.fields) {
    if (section.value.kind == Value::Kind::scalar || has_lines(section.key, section.value)) {
      add_lines(section, {}, 0, out);
    } else {
      out += emit_yaml(mapping_value({section})) + '\n';  // as a file states it
    }
  }
  return out;
}

std::vector<std::string> defaulted_keys(const Value& completed, const Value& stated) {
  std::vector<std::string> keys;
  add_keys_left_out(completed, &stated, {}, keys);
  return keys;
}

}  // namespace mirfak
