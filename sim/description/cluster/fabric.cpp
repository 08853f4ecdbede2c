#include "cluster/fabric.hpp"

#include "base/file_reference.hpp"
#include "base/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace mirfak {

namespace {

constexpr int kMaxPorts = 1024;        // ports of one switch towards nodes
constexpr int kMaxLevelPorts = 65536;  // ports of all switches that form one switch of a higher level
constexpr int kMaxGpus = 1 << 20;
constexpr int kMaxLevels = 8;
constexpr int kMaxDimension = 1 << 16;
constexpr double kMaxOversubscription = 1000;

bool has_levels(FabricType type) {
  return type == FabricType::rail_optimized || type == FabricType::fat_tree || type == FabricType::rail_only;
}

int torus_dimensions(FabricType type) {
  return type == FabricType::torus_2d ? 2 : type == FabricType::torus_3d ? 3 : 0;
}

// Refuses keys that belong to another kind of fabric than the type.
void refuse_keys(Mapping& mapping, std::initializer_list<std::string_view> keys, const Fabric& fabric,
                 std::string_view whose) {
  for (const std::string_view key : keys) {
    const std::optional<Node> stated = mapping.find(key);
    if (stated) {
      stated->fail(fmt::format("a {} fabric has no {}", fabric.title(), key),
                   fmt::format("leave it out, or set type to {}", whose));
    }
  }
}

FabricLevel read_level(const Node& item, bool leaf, bool from_file) {
  Mapping mapping(item);
  FabricLevel level;
  level.oversubscription = mapping.number_or("oversubscription", 1, 1, kMaxOversubscription);
  level.uplinks = static_cast<int>(mapping.integer_or("uplinks", 0, 1, kMaxLevelPorts));
  if (!from_file) {
    level.ports = static_cast<int>(mapping.integer_or("ports", 0, 1, leaf ? kMaxPorts : kMaxLevelPorts));
    level.gpus = static_cast<int>(mapping.integer_or("gpus", 0, 1, kMaxGpus));
  }
  mapping.finish();
  if (!from_file && (level.ports > 0) == (level.gpus > 0)) {
    item.fail("expected the size of a level: ports of a switch towards what is below it, or gpus of a block",
              "for example {ports: 32, oversubscription: 2} or {gpus: 3072, oversubscription: 7}");
  }
  return level;
}

void read_levels(Mapping& mapping, Fabric& fabric) {
  const std::optional<Node> levels = mapping.find("levels");
  if (!levels) return;
  for (const char* other : {"oversubscription", "leaf_ports", "uplinks"}) {
    const std::optional<Node> stated = mapping.find(other);
    if (stated) stated->fail(fmt::format("levels say it, and {} says it again", other), "leave one of them out");
  }
  fabric.oversubscription = 1;
  for (const Node& item : levels->as_items()) {
    const bool from_file = fabric.type == FabricType::file;
    FabricLevel level = read_level(item, fabric.levels.empty(), from_file);
    const int below = fabric.levels.empty() ? 0 : fabric.levels.back().gpus;
    if (level.gpus > 0 && level.gpus < below) {
      item.fail(fmt::format("a block of {} GPUs cannot hold the one of {} below it", level.gpus, below),
                "levels go from the leaves up");
    }
    fabric.oversubscription *= level.oversubscription;
    fabric.levels.push_back(level);
  }
  if (fabric.levels.empty() || fabric.levels.size() > kMaxLevels) {
    levels->fail(fmt::format("expected 1 to {} levels", kMaxLevels), "the switches above the last level need no entry");
  }
}

void read_dimensions(Mapping& mapping, Fabric& fabric) {
  const std::optional<Node> list = mapping.find("dimensions");
  if (!list) return;
  for (const Node& item : list->as_items()) {
    fabric.dimensions.push_back(static_cast<int>(item.as_integer(1, kMaxDimension)));
  }
  const auto wanted = static_cast<std::size_t>(torus_dimensions(fabric.type));
  if (fabric.dimensions.size() != wanted) {
    list->fail(fmt::format("expected {} dimensions, found {}", wanted, fabric.dimensions.size()),
               wanted == 2 ? "for example [8, 4]" : "for example [4, 4, 4]");
  }
}

void read_dragonfly(Mapping& mapping, Fabric& fabric) {
  fabric.group_routers = static_cast<int>(mapping.integer_or("group_routers", fabric.group_routers, 1, kMaxPorts));
  fabric.global_links = static_cast<int>(mapping.integer_or("global_links", 0, 1, kMaxPorts));
  if (fabric.type == FabricType::dragonfly_plus) {
    fabric.group_spines = static_cast<int>(mapping.integer_or("group_spines", 0, 1, kMaxPorts));
  }
}

void read_type(Mapping& mapping, Fabric& fabric) {
  const std::optional<Node> type = mapping.find("type");
  const std::optional<Node> file = mapping.find("file");
  if (type && file) type->fail("the file says what kind of fabric it is", "leave type or file out");
  if (type) fabric.type = static_cast<FabricType>(type->as_choice(fabric_names()));
  if (!file) return;
  fabric.type = FabricType::file;
  fabric.file = stated_path(*file);
  fabric.where = file->where();
  fabric.topology = mapping.string_or("topology", "");
}

void read_routing(Mapping& mapping, Fabric& fabric) {
  const std::optional<Node> routing = mapping.find("routing");
  if (routing && fabric.type == FabricType::full_bisection) {
    routing->fail("a full-bisection fabric has one path between two ports: there is nothing to route",
                  "leave it out, or set type to a fabric of links, such as fat-tree");
  }
  if (routing) fabric.routing = static_cast<Routing>(routing->as_choice(routing_names()));
  const std::optional<Node> seed = mapping.find("routing_seed");
  if (!seed) return;
  if (fabric.routing != Routing::hashed) {
    seed->fail("only hashed routing has a seed", "set routing: hashed together with it, or leave it out");
  }
  fabric.routing_seed = static_cast<std::uint64_t>(mapping.integer_or("routing_seed", 1, 0));
}

std::string level_yaml(const FabricLevel& level) {
  std::string out;
  if (level.ports > 0) out += fmt::format("ports: {}, ", level.ports);
  if (level.gpus > 0) out += fmt::format("gpus: {}, ", level.gpus);
  out += fmt::format("oversubscription: {}", level.oversubscription);
  if (level.uplinks > 0) out += fmt::format(", uplinks: {}", level.uplinks);
  return "{" + out + "}";
}

std::string size_yaml(const Fabric& fabric) {
  if (!fabric.levels.empty()) {
    std::string list;
    for (const FabricLevel& level : fabric.levels) list += (list.empty() ? "" : ", ") + level_yaml(level);
    return "levels: [" + list + "]";
  }
  std::string out = fmt::format("oversubscription: {}, leaf_ports: {}", fabric.oversubscription, fabric.leaf_ports);
  if (fabric.uplinks > 0) out += fmt::format(", uplinks: {}", fabric.uplinks);
  return out;
}

int nodes_of(const FabricLevel& level, const Fabric& fabric, const NodeSpec& spec, int below) {
  if (level.gpus > 0) return std::max(1, level.gpus / spec.gpus);
  if (below > 0) {
    const bool leaf_rails = fabric.type == FabricType::rail_optimized && &level == &fabric.levels[1];
    return std::max(1, level.ports / (leaf_rails ? std::max(1, std::min(spec.ports, spec.gpus)) : 1)) * below;
  }
  return fabric.type == FabricType::fat_tree ? std::max(1, level.ports / std::max(1, spec.ports)) : level.ports;
}

}  // namespace

const std::vector<std::string>& fabric_names() {
  static const std::vector<std::string> names = {"full-bisection", "rail-optimized", "fat-tree", "rail-only",
                                                 "dragonfly",      "dragonfly+",     "torus-2d", "torus-3d"};
  return names;
}

const std::vector<std::string>& routing_names() {
  static const std::vector<std::string> names = {"spread", "hashed"};
  return names;
}

Fabric default_fabric() {
  Fabric fabric;
  fabric.switch_latency_s = {0.2e-6, "a switch of a Quantum or Spectrum class: recalled, to be confirmed"};
  return fabric;
}

std::vector<FabricLevel> Fabric::stated_levels() const {
  if (!levels.empty()) return levels;
  return {{leaf_ports, 0, oversubscription, uplinks}};
}

std::string Fabric::title() const {
  if (type != FabricType::file) return fabric_names()[static_cast<std::size_t>(type)];
  return std::filesystem::path(file).filename().string();
}

Fabric read_fabric(const Node& section) {
  Fabric fabric = default_fabric();
  fabric.where = section.where();
  Mapping mapping(section);
  read_type(mapping, fabric);
  const bool dragonfly = fabric.type == FabricType::dragonfly || fabric.type == FabricType::dragonfly_plus;
  const bool tree = has_levels(fabric.type);
  if (tree || fabric.type == FabricType::file) read_levels(mapping, fabric);
  if (fabric.levels.empty()) {
    fabric.oversubscription = mapping.number_or("oversubscription", fabric.oversubscription, 1, kMaxOversubscription);
    fabric.leaf_ports = static_cast<int>(mapping.integer_or("leaf_ports", fabric.leaf_ports, 1, kMaxPorts));
  }
  if (tree) fabric.uplinks = static_cast<int>(mapping.integer_or("uplinks", 0, 1, kMaxLevelPorts));
  if (!tree) refuse_keys(mapping, {"uplinks", "levels"}, fabric, "fat-tree, rail-optimized or rail-only");
  if (dragonfly) read_dragonfly(mapping, fabric);
  if (!dragonfly) refuse_keys(mapping, {"group_routers", "global_links"}, fabric, "dragonfly or dragonfly+");
  refuse_keys(mapping,
              fabric.type == FabricType::dragonfly_plus ? std::initializer_list<std::string_view>{}
                                                        : std::initializer_list<std::string_view>{"group_spines"},
              fabric, "dragonfly+");
  if (torus_dimensions(fabric.type) > 0) read_dimensions(mapping, fabric);
  if (torus_dimensions(fabric.type) == 0) refuse_keys(mapping, {"dimensions"}, fabric, "torus-2d or torus-3d");
  if (const std::optional<Node> adds_up = mapping.find("in_network_reduction")) {
    fabric.in_network_reduction = adds_up->as_bool();
  }
  if (const std::optional<Node> latency = mapping.find("switch_latency_s")) {
    fabric.switch_latency_s = {latency->as_number(0, 0.1), "the scenario"};
  }
  read_routing(mapping, fabric);
  mapping.finish();
  if (fabric.type == FabricType::full_bisection && fabric.oversubscription > 1) {
    mapping.find("oversubscription")->fail("a full-bisection fabric has none", "expected rail-optimized or fat-tree");
  }
  return fabric;
}

std::string fabric_yaml(const Fabric& fabric) {
  std::string out;
  if (fabric.type == FabricType::file) {
    out = "file: " + quoted_yaml(fabric.file);
    if (!fabric.topology.empty()) out += ", topology: " + quoted_yaml(fabric.topology);
  } else {
    out = "type: " + fabric.title();
  }
  out += ", " + size_yaml(fabric);
  if (fabric.type == FabricType::dragonfly || fabric.type == FabricType::dragonfly_plus) {
    out += fmt::format(", group_routers: {}", fabric.group_routers);
    if (fabric.group_spines > 0) out += fmt::format(", group_spines: {}", fabric.group_spines);
    if (fabric.global_links > 0) out += fmt::format(", global_links: {}", fabric.global_links);
  }
  if (!fabric.dimensions.empty()) out += fmt::format(", dimensions: [{}]", fmt::join(fabric.dimensions, ", "));
  out += fmt::format(", in_network_reduction: {}", fabric.in_network_reduction);
  if (!(fabric.switch_latency_s == default_fabric().switch_latency_s)) {
    out += fmt::format(", switch_latency_s: {}", fabric.switch_latency_s.value);
  }
  if (fabric.routing == Routing::hashed) out += fmt::format(", routing: hashed, routing_seed: {}", fabric.routing_seed);
  return "{" + out + "}";
}

int nodes_per_leaf(const Fabric& fabric, const NodeSpec& spec) {
  switch (fabric.type) {
    case FabricType::full_bisection:
    case FabricType::torus_2d:
    case FabricType::torus_3d:
    case FabricType::file:
      return 1;
    case FabricType::dragonfly:
    case FabricType::dragonfly_plus:
      return fabric.group_routers * std::max(1, fabric.leaf_ports / std::max(1, spec.ports));
    case FabricType::rail_optimized:
    case FabricType::rail_only:
    case FabricType::fat_tree:
      break;
  }
  if (fabric.levels.empty()) {
    return nodes_of(fabric.stated_levels().front(), fabric, spec, 0);
  }
  int leaf = 0;
  int below = 0;
  for (const FabricLevel& level : fabric.levels) {
    below = nodes_of(level, fabric, spec, below);
    if (leaf == 0) leaf = below;
    if (level.oversubscription > 1) return below;
  }
  return leaf;
}

}  // namespace mirfak
