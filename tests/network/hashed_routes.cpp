// Hashed routes collide as random choices do: a permutation over a fat tree of 16-port switches, 1,024 devices.

#include "network/routes.hpp"

#include "cluster/fixtures.hpp"
#include "network/cluster_routes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

using namespace mirfak;

namespace {

constexpr int kHalf = 8;  // of a switch's ports: 8 devices on a leaf, 8 leaves in a pod, 16 pods
constexpr int kPod = kHalf * kHalf;
constexpr int kPods = 2 * kHalf;
constexpr int kDevices = kPods * kPod;

Cluster fat_tree(const std::string& routing) {
  const Document document =
      Document::from_text("{type: fat-tree, levels: [{ports: 8}, {ports: 8}], " + routing + "}", "job.yaml");
  return uniform_cluster("hgx-h100", kDevices / 8, read_fabric(Node(document)));
}

// The device to which each device sends: all of a pod send to the pod that is `shift` pods further.
std::vector<int> permutation(int shift, std::mt19937_64& random) {
  std::vector<int> out;
  std::vector<int> places(kPod);
  std::iota(places.begin(), places.end(), 0);
  for (int pod = 0; pod < kPods; ++pod) {
    std::shuffle(places.begin(), places.end(), random);
    for (const int place : places) out.push_back((pod + shift) % kPods * kPod + place);
  }
  return out;
}

using Paths = std::vector<std::vector<std::uint32_t>>;

// Max-min fair rates of flows that each may fill a link: the link with the least room for each of its flows decides,
// then the next.
std::vector<double> fair_rates(const Paths& paths, std::size_t links) {
  std::vector<double> rate(paths.size(), -1);
  std::vector<double> room(links, 1);
  std::vector<std::vector<std::size_t>> users(links);
  std::vector<int> waiting(links, 0);
  for (std::size_t flow = 0; flow < paths.size(); ++flow) {
    for (const std::uint32_t link : paths[flow]) {
      users[link].push_back(flow);
      ++waiting[link];
    }
  }
  while (true) {
    double least = 2;
    std::size_t at = links;
    for (std::size_t link = 0; link < links; ++link) {
      if (waiting[link] == 0 || room[link] / waiting[link] >= least) continue;
      least = room[link] / waiting[link];
      at = link;
    }
    if (at == links) break;
    for (const std::size_t flow : users[at]) {
      if (rate[flow] >= 0) continue;
      rate[flow] = least;
      for (const std::uint32_t link : paths[flow]) {
        room[link] -= least;
        --waiting[link];
      }
    }
  }
  return rate;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The same tree, where each flow draws its switches: one of 8 in its pod, one of 8 above that.
Paths drawn_paths(const std::vector<int>& to, std::mt19937_64& random) {
  std::uniform_int_distribution<int> one_of(0, kHalf - 1);
  Paths out;
  for (int from = 0; from < kDevices; ++from) {
    const int middle = one_of(random);
    const int top = one_of(random);
    const auto link = [&](int level, int above, int below) {
      return static_cast<std::uint32_t>((level * kDevices) + (below * kHalf) + above);
    };
    const int target = to[static_cast<std::size_t>(from)];
    const int up = from / kPod * kHalf + middle;
    const int down = target / kPod * kHalf + middle;
    out.push_back(
        {link(0, middle, from / kHalf), link(1, top, up), link(2, top, down), link(3, middle, target / kHalf)});
  }
  return out;
}

Paths hashed_paths(Routes& routes, const std::vector<int>& to) {
  Paths out;
  for (int from = 0; from < kDevices; ++from) {
    out.emplace_back();
    for (const LinkShare& on : routes.between(from, to[static_cast<std::size_t>(from)])) out.back().push_back(on.link);
  }
  return out;
}

double share_in_use(const Paths& paths, std::size_t hop) {
  std::vector<std::uint32_t> used;
  for (const auto& path : paths) used.push_back(path.at(hop));
  std::sort(used.begin(), used.end());
  const auto count = std::unique(used.begin(), used.end()) - used.begin();
  return static_cast<double>(count) / kDevices;  // as many links of each level as devices
}

}  // namespace

// A share 1 - (1 - 1/n)^m of n links is in use if m messages choose evenly: 8 of a leaf's devices choose from its 8
// uplinks, and 64 of a pod's from its 64. All flows that a pod's top links carry go to one pod, and so do not meet
// again on the way down to it; below it they do.
TEST_CASE("hashed routes: links are chosen as often as at random") {
  std::mt19937_64 random(1);
  const Cluster cluster = fat_tree("routing: hashed");
  const Topology topology(cluster);
  std::vector<double> used(4, 0.0);
  constexpr int kDraws = 16;
  for (int draw = 0; draw < kDraws; ++draw) {
    Routes routes = Routes::hashed(fabric_graph(cluster, topology), static_cast<std::uint64_t>(draw));
    const Paths paths = hashed_paths(routes, permutation(1 + draw % (kPods - 1), random));
    for (std::size_t hop = 0; hop < 4; ++hop) used[hop] += share_in_use(paths, hop) / kDraws;
  }
  const double of_leaf = 1 - std::pow(1 - 1.0 / kHalf, kHalf);
  const double of_pod = 1 - std::pow(1 - 1.0 / kPod, kPod);
  // 16 x 1,024 links of which each is in use or not: a standard error of less than 0.004.
  CHECK(used[0] == doctest::Approx(of_leaf).epsilon(0.015));
  CHECK(used[1] == doctest::Approx(of_pod).epsilon(0.015));
  CHECK(used[2] == doctest::Approx(of_pod).epsilon(0.015));
  CHECK(used[3] == doctest::Approx(of_leaf).epsilon(0.015));
}

TEST_CASE("hashed routes: a permutation keeps the share of throughput that random choices leave it") {
  std::mt19937_64 random(2);
  const Cluster cluster = fat_tree("routing: hashed");
  const Topology topology(cluster);
  double hashed = 0;
  double drawn = 0;
  constexpr int kDraws = 12;
  for (int draw = 0; draw < kDraws; ++draw) {
    Routes routes = Routes::hashed(fabric_graph(cluster, topology), static_cast<std::uint64_t>(draw) << 32);
    const std::vector<int> to = permutation(1 + draw % (kPods - 1), random);
    hashed += mean(fair_rates(hashed_paths(routes, to), routes.links().size())) / kDraws;
    drawn += mean(fair_rates(drawn_paths(to, random), std::size_t{4} * kDevices)) / kDraws;
  }
  MESSAGE("of a line rate, hashed " << hashed << ", drawn " << drawn);
  CHECK(hashed == doctest::Approx(drawn).epsilon(0.015));
}

TEST_CASE("hashed routes: what collides there has room where messages are spread") {
  std::mt19937_64 random(4);
  const Cluster cluster = fat_tree("routing: spread");
  const Topology topology(cluster);
  const FabricGraph graph = fabric_graph(cluster, topology);
  Routes routes = Routes::spread(graph, switch_colours(graph, topology));
  const double port = topology.link_bandwidth(topology.attachments(0).front().links.back());
  const std::vector<int> to = permutation(5, random);
  std::vector<double> sent(routes.links().size(), 0.0);
  for (int from = 0; from < kDevices; ++from) {
    for (const LinkShare& on : routes.between(from, to[static_cast<std::size_t>(from)]))
      sent[on.link] += on.share * port;
  }
  double fullest = 0;
  for (std::size_t link = 0; link < sent.size(); ++link) {
    fullest = std::max(fullest, sent[link] / routes.links()[link].bytes_per_s);
  }
  CHECK(fullest == doctest::Approx(1));
}

TEST_CASE("hashed routes: the same for equal seeds, others for another") {
  std::mt19937_64 random(3);
  const std::vector<int> to = permutation(3, random);
  const auto paths_with = [&](const std::string& routing) {
    const Cluster cluster = fat_tree(routing);
    Routes* routes = routes_of(cluster);
    REQUIRE(routes != nullptr);
    return hashed_paths(*routes, to);
  };
  const Paths seven = paths_with("routing: hashed, routing_seed: 7");
  CHECK(seven == paths_with("routing_seed: 7, routing: hashed"));
  CHECK(seven != paths_with("routing: hashed, routing_seed: 8"));
  CHECK(paths_with("routing: hashed") == paths_with("routing: hashed, routing_seed: 1"));
  // A tree without oversubscription has room for all where messages are spread.
  CHECK(routes_of(fat_tree("routing: spread")) == nullptr);
}
