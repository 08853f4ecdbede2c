#include "flow_programs.hpp"

#include "base/document.hpp"
#include "cluster/catalog.hpp"
#include "cluster/cluster.hpp"
#include "engine_programs.hpp"
#include "network/cluster_routes.hpp"
#include "support/source_root.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

constexpr double kLineRate = 50e9;

Program program_of_streams(std::uint32_t streams) {
  Program program;
  for (std::uint32_t rank = 0; rank < streams; ++rank) program.add_stream(rank, StreamKind::compute);
  return program;
}

ClassId add_flow_class(Program& program, std::string name, const std::vector<LinkUse>& uses) {
  TaskClass flow;
  flow.kind = TaskKind::transfer;
  flow.name = std::move(name);
  flow.traffic = program.add_traffic(uses);
  return program.add_class(std::move(flow));
}

// The fat tree's hosts are the GPUs of 128 nodes, each with a port of its own.
class FatTree {
 public:
  static constexpr std::uint32_t kHosts = 1024;

  explicit FatTree(bool hashed)
      : cluster_({{Catalog(std::filesystem::path(source_root()) / "hw_profiles").node("hgx-h100"), kHosts / 8, {}}},
                 fabric()),
        routes_(make_routes(cluster_, hashed)) {}

  // The links between switches, then those out of every host and into it.
  std::vector<Link> links() const {
    std::vector<Link> out;
    for (const RoutedLink& link : routes_.links()) out.push_back({link.name, link.bytes_per_s});
    for (std::uint32_t port = 0; port < 2 * kHosts; ++port) out.push_back({{}, kLineRate});
    return out;
  }

  std::vector<LinkUse> uses(std::uint32_t from, std::uint32_t to) {
    const auto between = static_cast<LinkId>(routes_.links().size());
    std::vector<LinkUse> out = {{between + from, kLineRate}};
    for (const LinkShare& on : routes_.between(static_cast<int>(from), static_cast<int>(to))) {
      out.push_back({on.link, on.share * kLineRate});
    }
    out.push_back({between + kHosts + to, kLineRate});
    return out;
  }

 private:
  static Fabric fabric() {
    const Document text = Document::from_text("{type: fat-tree, levels: [{ports: 8}, {ports: 8}]}", "fat tree");
    return read_fabric(Node(text));
  }

  static Routes make_routes(const Cluster& cluster, bool hashed) {
    const Topology topology(cluster);
    FabricGraph graph = fabric_graph(cluster, topology);
    std::vector<std::uint32_t> colours = switch_colours(graph, topology);
    return hashed ? Routes::hashed(std::move(graph), 1) : Routes::spread(std::move(graph), std::move(colours));
  }

  Cluster cluster_;
  Routes routes_;
};

}  // namespace

Program random_flows(std::uint32_t flows, std::uint32_t flows_per_stream) {
  Program program = program_of_streams(flows);
  const std::uint32_t nodes = flows / 8;
  for (std::uint32_t link = 0; link < 2 * nodes; ++link) program.links.push_back({{}, kLineRate});
  for (std::uint32_t from = 0; from < nodes; ++from) {
    for (std::uint32_t to = 0; to < nodes; ++to) {
      add_flow_class(program, fmt::format("{} {}", from, to), {{from, kLineRate}, {nodes + to, kLineRate}});
    }
  }
  FastRandom random(1);
  for (std::uint32_t k = 0; k < flows_per_stream; ++k) {
    for (StreamId stream = 0; stream < flows; ++stream) {
      const std::uint32_t from = stream % nodes;
      const auto to = (from + 1 + static_cast<std::uint32_t>(random.next() % (nodes - 1))) % nodes;
      program.add_task(stream, from * nodes + to, random.delay(), {});
    }
  }
  return program;
}

Program separated_flows(std::uint32_t flows, std::uint32_t flows_per_stream) {
  Program program = program_of_streams(flows);
  for (LinkId link = 0; link < flows / 4; ++link) {
    program.links.push_back({{}, kLineRate});
    add_flow_class(program, {}, {{link, kLineRate}});
  }
  FastRandom random(1);
  for (std::uint32_t k = 0; k < flows_per_stream; ++k) {
    for (StreamId stream = 0; stream < flows; ++stream) program.add_task(stream, stream / 4, random.delay(), {});
  }
  return program;
}

Program fat_tree_flows(std::uint32_t flows, std::uint32_t flows_per_stream, bool hashed) {
  FatTree tree(hashed);
  constexpr std::uint32_t hosts = FatTree::kHosts;
  Program program = program_of_streams(flows);
  program.links = tree.links();
  std::map<std::pair<std::uint32_t, std::uint32_t>, ClassId> classes;
  FastRandom random(1);
  for (std::uint32_t k = 0; k < flows_per_stream; ++k) {
    for (StreamId stream = 0; stream < flows; ++stream) {
      const std::uint32_t from = flows < hosts ? stream * (hosts / flows) : stream % hosts;
      const auto to = (from + 1 + static_cast<std::uint32_t>(random.next() % (hosts - 1))) % hosts;
      const auto [known, is_new] = classes.try_emplace({from, to}, 0);
      if (is_new) known->second = add_flow_class(program, fmt::format("{} {}", from, to), tree.uses(from, to));
      program.add_task(stream, known->second, random.delay(), {});
    }
  }
  return program;
}

}  // namespace mirfak
