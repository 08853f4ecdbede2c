// Every file of ../shared/topologies against the counts in its tables; skipped where they are not there.
#include "network/fabric_file.hpp"
#include "network/slurm_topology.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

using namespace mirfak;
namespace fs = std::filesystem;

namespace {

fs::path folder() { return fs::path(source_root()).parent_path() / "shared" / "topologies"; }

using Row = std::map<std::string, std::string>;

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      out.emplace_back();
    } else if (c != '\r') {
      out.back() += c;
    }
  }
  return out;
}

std::vector<Row> rows_of(const std::string& name) {
  std::ifstream in(folder() / name);
  std::vector<Row> out;
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> header = fields_of(line);
  while (std::getline(in, line)) {
    const std::vector<std::string> fields = fields_of(line);
    Row row;
    for (std::size_t i = 0; i < std::min(header.size(), fields.size()); ++i) row[header[i]] = fields[i];
    out.push_back(row);
  }
  return out;
}

std::string counted(const std::map<std::string, int>& counts) {
  std::string out;
  for (const auto& [name, count] : counts) out += (out.empty() ? "" : "; ") + name + ":" + std::to_string(count);
  return out;
}

std::map<std::string, std::string> facts_of(const NetworkGraph& graph) {
  return {graph.facts.begin(), graph.facts.end()};
}

// Hops from one vertex to each, over links of every kind.
std::vector<int> hops_from(const NetworkGraph& graph, int from) {
  std::vector<std::vector<int>> next(graph.vertices.size());
  for (const NetworkLink& link : graph.links) {
    next[static_cast<std::size_t>(link.a)].push_back(link.b);
    next[static_cast<std::size_t>(link.b)].push_back(link.a);
  }
  std::vector<int> out(graph.vertices.size(), -1);
  std::vector<int> queue = {from};
  out[static_cast<std::size_t>(from)] = 0;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const int to : next[static_cast<std::size_t>(queue[head])]) {
      if (out[static_cast<std::size_t>(to)] >= 0) continue;
      out[static_cast<std::size_t>(to)] = out[static_cast<std::size_t>(queue[head])] + 1;
      queue.push_back(to);
    }
  }
  return out;
}

int number_of(const NetworkGraph& graph, const std::string& name) {
  for (std::size_t i = 0; i < graph.vertices.size(); ++i) {
    if (graph.vertices[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

TEST_CASE("InfraGraph documents have the vertices, links and distances of their index") {
  for (const Row& row : rows_of("infragraph-counts.csv")) {
    CAPTURE(row.at("name"));
    const NetworkGraph graph = read_network_file(folder() / "infragraph" / (row.at("name") + ".yaml"));
    CHECK(std::to_string(graph.vertices.size()) == row.at("nodes"));
    CHECK(std::to_string(graph.links.size()) == row.at("edges"));
    CHECK(std::to_string(graph.parts()) == row.at("connected_components"));
    CHECK(facts_of(graph)["devices"] == row.at("devices"));
    CHECK(facts_of(graph)["instances"] == row.at("instances"));
    std::map<std::string, int> types;
    for (const NetworkVertex& vertex : graph.vertices) ++types[vertex.type == "device" ? "xpu" : vertex.type];
    CHECK(counted(types) == row.at("node_types"));
    std::map<std::string, int> links;
    for (const NetworkLink& link : graph.links) ++links[graph.link_types[static_cast<std::size_t>(link.type)]];
    CHECK(counted(links) == row.at("edge_links"));
    const std::vector<int> hops = hops_from(graph, number_of(graph, row.at("first_xpu")));
    const int last = number_of(graph, row.at("last_xpu"));
    CHECK(std::to_string(hops[static_cast<std::size_t>(last)]) == row.at("hops_first_to_last_xpu"));
    int most = 0;
    for (int v = 0; v < graph.devices; ++v) most = std::max(most, hops[static_cast<std::size_t>(v)]);
    CHECK(std::to_string(most) == row.at("max_hops_from_first_xpu"));
  }
}

TEST_CASE("the older schema of InfraGraph is refused at its place") {
  const fs::path file = folder() / "infragraph" / "old-schema-dgxa100.yaml";
  if (!fs::exists(file)) return;
  try {
    read_network_file(file);
    FAIL("it was read");
  } catch (const Error& error) {
    CHECK(error.where().line == 2);
    CHECK(error.message().find("older schema") != std::string::npos);
  }
}

TEST_CASE("NCCL's topologies have the counts of their index") {
  for (const Row& row : rows_of("xml-counts.csv")) {
    CAPTURE(row.at("file"));
    if (!row.at("file").starts_with("nccl/")) {
      CHECK_THROWS_AS(read_network_file(folder() / row.at("file")), Error);
      continue;
    }
    const NetworkGraph graph = read_network_file(folder() / row.at("file"));
    std::map<std::string, std::string> facts = facts_of(graph);
    for (const char* key : {"version", "cpus", "pci_nodes", "gpus", "gpu_links", "gpu_link_count_sum", "gpu_link_tag",
                            "nets", "net_speed_mbps"}) {
      CAPTURE(key);
      CHECK(facts[key] == row.at(key));
    }
    CHECK(graph.devices > 0);
    CHECK(graph.parts() == 1);
  }
}

TEST_CASE("Slurm's topologies have the switches and blocks of their index") {
  for (const Row& row : rows_of("slurm-index.csv")) {
    const fs::path file = folder() / row.at("file");
    CAPTURE(row.at("file"));
    if (row.at("file").find("models/") != std::string::npos || !fs::exists(file)) continue;
    if (file.extension() == ".conf") {
      const SlurmTopology topology = read_slurm_conf(file);
      const bool block = topology.kind == SlurmTopology::Kind::block;
      const std::string lines = row.at(block ? "block_lines" : "switch_lines");
      if (!lines.empty()) CHECK(std::to_string(topology.switches.size()) == lines);
      std::string sizes;
      for (const int size : topology.block_sizes) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
      if (!lines.empty()) CHECK(sizes == row.at("block_sizes"));
      CHECK(graph_of(topology, "x").devices > 0);
      continue;
    }
    const Document document = Document::from_file(file);
    std::size_t switches = 0;
    std::size_t blocks = 0;
    for (const SlurmTopology& topology : read_slurm_yaml(document)) {
      // The index counts the key `block`, which opens the section of blocks, too.
      const bool block = topology.kind == SlurmTopology::Kind::block;
      (block ? blocks : switches) += topology.switches.size() + (block ? 1 : 0);
      if (topology.kind != SlurmTopology::Kind::flat) graph_of(topology, "x");
    }
    CHECK(std::to_string(switches) == row.at("yaml_switches"));
    CHECK(std::to_string(blocks) == row.at("yaml_blocks"));
  }
}
