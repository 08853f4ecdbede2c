#include "network/flow.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "network/host_list.hpp"
#include "network/symmetry.hpp"

#include <fmt/format.h>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <boost/range/iterator_range.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

namespace mirfak {

namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct FlowEdge {
  std::int64_t capacity = 0;
  std::int64_t residual = 0;
  Traits::edge_descriptor reverse;
};
using FlowGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, FlowEdge>;

constexpr std::int64_t kUnbounded = std::int64_t{1} << 61U;
constexpr std::size_t kMaxSources = 256;

void join(FlowGraph& graph, std::size_t a, std::size_t b, std::int64_t forwards, std::int64_t backwards) {
  const auto there = boost::add_edge(a, b, graph).first;
  const auto back = boost::add_edge(b, a, graph).first;
  graph[there].capacity = forwards;
  graph[there].reverse = back;
  graph[back].capacity = backwards;
  graph[back].reverse = there;
}

// Returns the bandwidth between each two classes, in one direction. Links within a class join nothing.
std::map<std::pair<int, int>, double> capacities(const Topology& topology, const std::vector<int>& classes) {
  std::map<std::pair<int, int>, double> out;
  for (int link = 0; link < topology.links(); ++link) {
    const int a = classes[static_cast<std::size_t>(topology.link_source(link))];
    const int b = classes[static_cast<std::size_t>(topology.link_target(link))];
    if (a < b) out[{a, b}] += topology.link_bandwidth(link);
  }
  return out;
}

// Hops from one device to every vertex, and the least latency over that number of hops; -1: not reached.
struct Reach {
  std::vector<int> hops;
  std::vector<double> latency_s;
};
Reach reach_from(const Topology& topology, int device) {
  const auto n = static_cast<std::size_t>(topology.vertices());
  Reach out{std::vector<int>(n, -1), std::vector<double>(n, 0)};
  std::vector<int> queue = {device};
  out.hops[static_cast<std::size_t>(device)] = 0;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const auto at = static_cast<std::size_t>(queue[head]);
    for (const auto& edge :
         boost::make_iterator_range(boost::out_edges(static_cast<std::uint32_t>(at), topology.graph()))) {
      const auto to = static_cast<std::size_t>(boost::target(edge, topology.graph()));
      const double latency = out.latency_s[at] + topology.graph()[edge].latency_s;
      if (out.hops[to] < 0) {
        out.hops[to] = out.hops[at] + 1;
        out.latency_s[to] = latency;
        queue.push_back(static_cast<int>(to));
      } else if (out.hops[to] == out.hops[at] + 1) {
        out.latency_s[to] = std::min(out.latency_s[to], latency);
      }
    }
  }
  return out;
}

// Returns the first device of the second half; halves consist of whole nodes if there are several nodes.
int first_of_second_half(const Topology& topology, const Cluster* cluster) {
  const int half = topology.devices() / 2;
  if (cluster == nullptr || cluster->nodes() < 2) return half;
  int at = half;
  while (at > 0 && cluster->place_of(at).node == cluster->place_of(at - 1).node) --at;
  if (at > 0) return at;
  at = half;
  while (cluster->place_of(at).node == cluster->place_of(at - 1).node) ++at;
  return at;
}

std::vector<int> range_of(int first, int last) {
  std::vector<int> out;
  for (int i = first; i < last; ++i) out.push_back(i);
  return out;
}

// Returns the index of the device's node, domain, pod, group or rail, as `kind` names it; -1: none of this kind.
int place_in(const Topology& topology, const Cluster* cluster, const std::string& kind, int device) {
  if (kind == "device") return device;
  const auto ways = topology.attachments(device);
  if (kind == "pod" || kind == "group") {
    if (ways.empty()) return -1;
    return topology.graph()[static_cast<std::uint32_t>(ways.front().entry)].group;
  }
  if (kind == "rail") {
    if (ways.empty() || ways.front().links.size() < 2) return -1;
    return topology.graph()[static_cast<std::uint32_t>(topology.link_target(ways.front().links.end()[-2]))].place;
  }
  if (kind == "domain") return topology.graph()[static_cast<std::uint32_t>(device)].domain;
  return cluster != nullptr ? cluster->place_of(device).node : -1;
}

}  // namespace

double most_between(const Topology& topology, std::span<const int> from, std::span<const int> to) {
  std::vector<int> marks(static_cast<std::size_t>(topology.vertices()), 0);
  for (const int device : from) marks[static_cast<std::size_t>(device)] = 1;
  for (const int device : to) marks[static_cast<std::size_t>(device)] = 2;
  const std::vector<int> classes = alike_vertices(topology, marks);
  const auto count = static_cast<std::size_t>(*std::max_element(classes.begin(), classes.end())) + 1;
  FlowGraph graph(count + 2);
  const std::map<std::pair<int, int>, double> rates = capacities(topology, classes);
  double finite = 0;
  for (const auto& [pair, rate] : rates) finite += std::isfinite(rate) ? rate : 0;
  // Unit of capacities: whole bytes/s, or coarser if the sum of all would not fit.
  const double unit = std::max(1.0, finite / 1e17);
  const std::int64_t unstated = static_cast<std::int64_t>(finite / unit) + 1;
  for (const auto& [pair, rate] : rates) {
    const std::int64_t capacity = std::isfinite(rate) ? std::llround(rate / unit) : unstated;
    join(graph, static_cast<std::size_t>(pair.first), static_cast<std::size_t>(pair.second), capacity, capacity);
  }
  std::vector<char> joined(count, 0);
  for (const auto& [devices, side] : {std::pair(from, 0), std::pair(to, 1)}) {
    for (const int device : devices) {
      const auto of = static_cast<std::size_t>(classes[static_cast<std::size_t>(device)]);
      if (joined[of] != 0) continue;
      if (side == 0) join(graph, count, of, kUnbounded / 4, 0);
      if (side == 1) join(graph, of, count + 1, kUnbounded / 4, 0);
      joined[of] = 1;
    }
  }
  const std::int64_t flow =
      boost::push_relabel_max_flow(graph, count, count + 1,
                                   boost::capacity_map(boost::get(&FlowEdge::capacity, graph))
                                       .residual_capacity_map(boost::get(&FlowEdge::residual, graph))
                                       .reverse_edge_map(boost::get(&FlowEdge::reverse, graph)));
  return flow >= unstated ? kNotStated : static_cast<double>(flow) * unit;
}

Bisection bisection_of(const Topology& topology, const Cluster* cluster) {
  const int second = first_of_second_half(topology, cluster);
  Bisection best{most_between(topology, range_of(0, second), range_of(second, topology.devices())),
                 fmt::format("devices 0 to {} and {} to {}", second - 1, second, topology.devices() - 1)};
  const std::vector<int>& lengths = topology.dimensions();
  int stride = 1;
  for (std::size_t d = 0; d < lengths.size() && cluster != nullptr; stride *= lengths[d], ++d) {
    if (lengths[d] % 2 != 0) continue;
    std::array<std::vector<int>, 2> halves;
    for (int device = 0; device < topology.devices(); ++device) {
      const int at = cluster->place_of(device).node / stride % lengths[d];
      halves[at < lengths[d] / 2 ? 0 : 1].push_back(device);
    }
    if (halves[0].size() != halves[1].size()) continue;
    const double bandwidth = most_between(topology, halves[0], halves[1]);
    if (bandwidth < best.bandwidth) best = {bandwidth, fmt::format("halves along dimension {}", d + 1)};
  }
  return best;
}

Diameter diameter_of(const Topology& topology) {
  const std::vector<int> classes = alike_vertices(topology);
  std::vector<int> sources;
  std::vector<char> seen(classes.size(), 0);
  for (int device = 0; device < topology.devices(); ++device) {
    const auto of = static_cast<std::size_t>(classes[static_cast<std::size_t>(device)]);
    if (seen[of] != 0 || sources.size() >= kMaxSources) continue;
    seen[of] = 1;
    sources.push_back(device);
  }
  Diameter out;
  out.sources = static_cast<int>(sources.size());
  out.devices = topology.devices();
  for (const int source : sources) {
    const Reach reach = reach_from(topology, source);
    for (std::size_t device = 0; device < static_cast<std::size_t>(topology.devices()); ++device) {
      if (reach.hops[device] < 0) out.unreachable = true;
      if (reach.hops[device] > out.hops) out = {reach.hops[device], 0, out.sources, out.devices, out.unreachable};
      if (reach.hops[device] == out.hops) out.latency_s = std::max(out.latency_s, reach.latency_s[device]);
    }
  }
  return out;
}

int hops_between(const Topology& topology, int from, int to) {
  return reach_from(topology, from).hops[static_cast<std::size_t>(to)];
}

std::vector<int> named_devices(const Topology& topology, const Cluster* cluster, const std::string& words,
                               const std::string& option) {
  const Location where{option + " " + excerpt(words), 0, 0};
  const std::vector<std::string> kinds = {"device", "node", "domain", "pod", "group", "rail"};
  const std::size_t colon = words.find(':');
  const std::string kind = words.substr(0, colon);
  std::vector<int> out;
  if (colon == std::string::npos) {
    for (int device = 0; device < topology.devices(); ++device) {
      const std::string name = topology.name(device);
      if (name == words || name.starts_with(words + ".")) out.push_back(device);
    }
  } else {
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
      fail_input(where, fmt::format("there are no groups called '{}'", excerpt(kind)),
                 did_you_mean(kind, kinds, "expected " + join_or(kinds)));
    }
    std::vector<std::string> numbers = HostLists().expand("[" + words.substr(colon + 1) + "]", where);
    std::sort(numbers.begin(), numbers.end());
    for (int device = 0; device < topology.devices(); ++device) {
      const int place = place_in(topology, cluster, kind, device);
      if (place >= 0 && std::binary_search(numbers.begin(), numbers.end(), std::to_string(place))) {
        out.push_back(device);
      }
    }
  }
  if (out.empty()) {
    fail_input(where, "no device is in this group",
               "for example node:0-3, rail:2, pod:1, device:0-7, or the beginning of a name in a file");
  }
  return out;
}

}  // namespace mirfak
