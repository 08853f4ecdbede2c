// Laws of routes and of the flows of collectives.

#include "network/routes.hpp"

#include "base/error.hpp"
#include "cluster/fixtures.hpp"
#include "network/cluster_routes.hpp"
#include "network/collective_flows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

Cluster cluster_on(const std::string& fabric, int nodes) {
  const Document document = Document::from_text(fabric, "job.yaml");
  return uniform_cluster("hgx-h100", nodes, read_fabric(Node(document)));
}

// A switch's number is its colour.
std::vector<std::uint32_t> told_apart(const FabricGraph& graph) {
  std::vector<std::uint32_t> colours(graph.switches.size());
  std::iota(colours.begin(), colours.end(), 0U);
  return colours;
}

// The load of the `links` that join colours, by colours, of a route over the links of the graph itself.
using BetweenColours = std::map<std::pair<std::uint32_t, std::uint32_t>, double>;

const std::vector<std::string> kFabrics = {
    "{type: rail-optimized, leaf_ports: 4, oversubscription: 4}",
    "{type: fat-tree, levels: [{ports: 16}, {gpus: 64, oversubscription: 2}, {gpus: 128, oversubscription: 3}]}",
    "{type: dragonfly, leaf_ports: 8, group_routers: 4, global_links: 2}",
    "{type: torus-3d, dimensions: [4, 4, 2]}",
};

struct Network {
  Cluster cluster;
  Topology topology;
  FabricGraph graph;
  std::vector<std::uint32_t> colours;

  explicit Network(const std::string& fabric)
      : cluster(cluster_on(fabric, 32)),
        topology(cluster),
        graph(fabric_graph(cluster, topology)),
        colours(switch_colours(graph, topology)) {}
};

// The switches that a link of routes over single switches joins: those may have several links in parallel.
std::pair<std::uint32_t, std::uint32_t> ends_of(const FabricGraph& graph, const RoutedLink& link) {
  const std::size_t middle = link.name.find(" to ");
  const auto number = [&](const std::string& name) {
    const auto found = std::find(graph.switches.begin(), graph.switches.end(), name);
    return static_cast<std::uint32_t>(found - graph.switches.begin());
  };
  return {number(link.name.substr(0, middle)), number(link.name.substr(middle + 4))};
}

double sum_out_of(const std::vector<Flow>& flows, const Cluster& cluster, int domain) {
  double sum = 0;
  for (const Flow& flow : flows) sum += cluster.place_of(flow.from).domain == domain ? flow.share : 0;
  return sum;
}

std::vector<Flow> flows_of(FlowPattern pattern, const Cluster& cluster, const std::vector<int>& devices) {
  std::vector<Flow> out;
  for_each_flow(pattern, cluster, devices, [&](const Flow& flow) { out.push_back(flow); });
  return out;
}

}  // namespace

// Switches that are taken together carry what they carry one by one.
TEST_CASE("routes: colours of switches are exact") {
  for (const std::string& fabric : kFabrics) {
    CAPTURE(fabric);
    const Network network(fabric);
    Routes joined = Routes::spread(network.graph, network.colours);
    Routes single = Routes::spread(network.graph, told_apart(network.graph));
    for (const int from : {0, 9, 70}) {
      for (const int to : {3, 16, 77, 130, 255}) {
        double all_of_joined = 0;
        double all_of_single = 0;
        for (const LinkShare& on : joined.between(from, to)) all_of_joined += on.share;
        BetweenColours by_colours;
        for (const LinkShare& on : single.between(from, to)) {
          const auto [a, b] = ends_of(network.graph, single.links()[on.link]);
          by_colours[{network.colours[a], network.colours[b]}] += on.share;
          all_of_single += on.share;
        }
        // Every hop carries the whole message: as many wholes as hops, whoever counts.
        CHECK(all_of_joined == doctest::Approx(all_of_single));
        std::vector<double> of_joined;
        for (const LinkShare& on : joined.between(from, to)) of_joined.push_back(on.share);
        std::vector<double> of_single;
        for (const auto& [colours, share] : by_colours) of_single.push_back(share);
        std::sort(of_joined.begin(), of_joined.end());
        std::sort(of_single.begin(), of_single.end());
        REQUIRE(of_joined.size() == of_single.size());
        for (std::size_t k = 0; k < of_joined.size(); ++k) CHECK(of_joined[k] == doctest::Approx(of_single[k]));
        // Links that are one carry the same share of their bandwidth.
        std::map<std::pair<std::uint32_t, std::uint32_t>, double> level;
        for (const LinkShare& on : single.between(from, to)) {
          const auto [a, b] = ends_of(network.graph, single.links()[on.link]);
          const double use = on.share / single.links()[on.link].bytes_per_s;
          const auto [known, is_new] = level.try_emplace({network.colours[a], network.colours[b]}, use);
          if (!is_new) CHECK(known->second == doctest::Approx(use));
        }
      }
    }
  }
}

TEST_CASE("routes: a hash takes one of the shortest paths, the same each time") {
  for (const std::string& fabric : kFabrics) {
    CAPTURE(fabric);
    const Network network(fabric);
    Routes spread = Routes::spread(network.graph, told_apart(network.graph));
    Routes hashed = Routes::hashed(network.graph, 1);
    Routes again = Routes::hashed(network.graph, 1);
    std::map<std::uint32_t, int> taken;
    for (int from = 0; from < 64; ++from) {
      const int to = 255 - from;
      double hops = 0;
      std::vector<std::pair<std::uint32_t, std::uint32_t>> possible;
      for (const LinkShare& on : spread.between(from, to)) {
        hops += on.share;
        possible.push_back(ends_of(network.graph, spread.links()[on.link]));
      }
      const auto path = hashed.between(from, to);
      CHECK(static_cast<double>(path.size()) == doctest::Approx(hops));
      for (std::size_t k = 0; k < path.size(); ++k) {
        const std::pair ends = ends_of(network.graph, hashed.links()[path[k].link]);
        CHECK(std::find(possible.begin(), possible.end(), ends) != possible.end());
        CHECK(path[k].link == again.between(from, to)[k].link);
        ++taken[path[k].link];
      }
    }
    CHECK(taken.size() > 4);  // not all on one
  }
}

TEST_CASE("routes: oversubscription scales the bandwidth of links, never their number") {
  const Network full("{type: fat-tree, levels: [{ports: 16}, {gpus: 64}]}");
  const Network half("{type: fat-tree, levels: [{ports: 16}, {gpus: 64, oversubscription: 2}]}");
  REQUIRE(full.graph.links.size() == half.graph.links.size());
  double all = 0;
  double of_half = 0;
  for (const FabricLink& link : full.graph.links) all += link.bytes_per_s;
  for (const FabricLink& link : half.graph.links) of_half += link.bytes_per_s;
  CHECK(of_half < all);
}

TEST_CASE("routes: on rails a node hands messages on to the port of the receiver's rail") {
  const Network network("{type: rail-optimized, leaf_ports: 32}");
  Routes routes = Routes::spread(network.graph, network.colours);
  // 32 nodes are one pod, so that no message ever crosses a link between switches.
  CHECK(routes.between(0, 8 * 5 + 3).empty());
  CHECK(network.graph.ends(0, 8 * 5 + 3).first == network.graph.attached[3]);
}

TEST_CASE("binary trees: one root, everyone below it, two children at most") {
  for (int places = 1; places <= 70; ++places) {
    const std::vector<int> parents = binary_tree(places);
    std::vector<int> children(parents.size(), 0);
    for (int place = 0; place < places; ++place) {
      const int parent = parents[static_cast<std::size_t>(place)];
      CHECK((place == 0) == (parent == -1));
      if (parent >= 0) ++children[static_cast<std::size_t>(parent)];
      int above = place;
      for (int steps = 0; above > 0 && steps < places; ++steps) above = parents[static_cast<std::size_t>(above)];
      CHECK(above == 0);
    }
    for (const int count : children) CHECK(count <= 2);
  }
}

TEST_CASE("flows: what leaves a domain is what its ranks send") {
  const Cluster cluster = cluster_on("{type: rail-optimized}", 6);
  std::vector<int> all(48);
  std::iota(all.begin(), all.end(), 0);
  std::vector<int> rail;
  for (int node = 0; node < 6; ++node) rail.push_back(8 * node + 2);
  for (const auto& [devices, ranks] : {std::pair(all, 8.0), std::pair(rail, 1.0)}) {
    for (const FlowPattern pattern : {FlowPattern::ring, FlowPattern::exchange}) {
      for (int domain = 0; domain < 6; ++domain) {
        CHECK(sum_out_of(flows_of(pattern, cluster, devices), cluster, domain) == doctest::Approx(ranks));
      }
    }
    // Two trees of n - 1 edges carry 4 (n - 1) quarters, over n domains: the root of each has no parent.
    double sum = 0;
    for (int domain = 0; domain < 6; ++domain) {
      sum += sum_out_of(flows_of(FlowPattern::tree, cluster, devices), cluster, domain);
    }
    CHECK(sum == doctest::Approx(ranks * 5));
  }
  double sent = 0;
  for (const Flow& flow : flows_of(FlowPattern::pat, cluster, rail)) sent += flow.share;
  CHECK(sent == doctest::Approx(6));
  CHECK(flows_of(FlowPattern::ring, cluster, {0, 1, 2, 3}).empty());  // inside a domain
}
