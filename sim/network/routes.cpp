#include "network/routes.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

namespace mirfak {

namespace {

constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();

// SplitMix64's finalizer (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

using Colours = std::vector<std::uint32_t>;

// Per switch, what it sees: how many links of which bandwidth go to which colour.
using View = std::map<std::pair<std::uint32_t, double>, int>;

View view_of(const FabricGraph& graph, std::uint32_t at, const Colours& colours) {
  View view;
  for (const FabricLink& link : graph.leaving(at)) ++view[{colours[link.to], link.bytes_per_s}];
  return view;
}

// One colour for each attached switch, and one for all others to begin with; then those that see different colours part,
// until none do. Names are numbers: first come, first numbered.
Colours refined(const FabricGraph& graph) {
  const auto switches = static_cast<std::uint32_t>(graph.switches.size());
  std::vector<bool> attached(switches, false);
  for (const std::int32_t at : graph.attached) {
    if (at >= 0) attached[static_cast<std::size_t>(at)] = true;
  }
  Colours colours(switches, 0);
  std::uint32_t count = 0;
  for (std::uint32_t at = 0; at < switches; ++at) {
    if (attached[at]) colours[at] = ++count;
  }
  ++count;
  while (true) {
    std::map<std::pair<std::uint32_t, View>, std::uint32_t> known;
    Colours finer(switches);
    for (std::uint32_t at = 0; at < switches; ++at) {
      // What is one of its kind already cannot part, and its view need not be made.
      View view = attached[at] ? View{} : view_of(graph, at, colours);
      const auto next = static_cast<std::uint32_t>(known.size());
      finer[at] = known.try_emplace({colours[at], std::move(view)}, next).first->second;
    }
    colours = std::move(finer);
    if (known.size() == count) return colours;
    count = static_cast<std::uint32_t>(known.size());
  }
}

Colours each_its_own(const FabricGraph& graph) {
  Colours colours(graph.switches.size());
  for (std::uint32_t at = 0; at < colours.size(); ++at) colours[at] = at;
  return colours;
}

}  // namespace

const std::vector<std::string>& routing_names() {
  static const std::vector<std::string> names = {"spread", "hashed"};
  return names;
}

// The fabric with switches of one colour as one, and the routes that were asked for.
class Routes::Table {
 public:
  Table(FabricGraph given, Routing routing, std::uint64_t seed)
      : given_(std::move(given)),
        routing_(routing),
        seed_(seed),
        colours_(routing == Routing::spread ? refined(given_) : each_its_own(given_)) {
    const FabricGraph& graph = given_;
    name_switches(graph);
    if (routing == Routing::spread) {
      join_links(graph);
    } else {
      for (const FabricLink& link : graph.links) add_link({link.from, link.to, link.bytes_per_s}, 1);
    }
    graph_.sort_links();
    name_links();
  }

  std::span<const RoutedLink> links() const { return links_; }

  std::span<const LinkShare> between(int from_device, int to_device) {
    const auto [enters, leaves] = given_.ends(from_device, to_device);
    if (enters == leaves) return {};
    if (enters < 0 || leaves < 0) {
      fail_infeasible({}, fmt::format("device {} is on no switch", enters < 0 ? from_device : to_device),
                      "attach it in cluster.fabric, or keep groups of ranks where paths exist");
    }
    const std::uint32_t from = colours_[static_cast<std::size_t>(enters)];
    const std::uint32_t to = colours_[static_cast<std::size_t>(leaves)];
    const std::uint64_t pair = std::uint64_t{from} << 32 | to;
    if (routing_ == Routing::hashed) {
      const std::uint64_t ends = std::uint64_t(from_device) << 32 | static_cast<std::uint32_t>(to_device);
      path_ = one_path(from, to, mixed(seed_ ^ mixed(ends)));
      return path_;
    }
    const auto [known, is_new] = spread_.try_emplace(pair);
    if (is_new) known->second = all_paths(from, to);
    return known->second;
  }

 private:
  void name_switches(const FabricGraph& graph) {
    const std::uint32_t count = colours_.empty() ? 0 : *std::max_element(colours_.begin(), colours_.end()) + 1;
    graph_.switches.resize(count);
    std::vector<int> members(count, 0);
    for (std::uint32_t at = 0; at < colours_.size(); ++at) {
      if (members[colours_[at]]++ == 0) graph_.switches[colours_[at]] = graph.switches[at];
    }
    for (std::uint32_t colour = 0; colour < count; ++colour) {
      if (members[colour] > 1) graph_.switches[colour] += fmt::format(" and {} alike", members[colour] - 1);
    }
  }

  void join_links(const FabricGraph& graph) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<double, int>> joined;
    for (const FabricLink& link : graph.links) {
      auto& [bytes_per_s, count] = joined[{colours_[link.from], colours_[link.to]}];
      bytes_per_s += link.bytes_per_s;
      ++count;
    }
    for (const auto& [ends, of] : joined) add_link({ends.first, ends.second, of.first}, of.second);
  }

  void add_link(const FabricLink& link, int count) {
    graph_.links.push_back(link);
    counts_.push_back(count);
  }

  // Links come in the order of the switch that they leave already where they are joined.
  void name_links() {
    for (std::size_t i = 0; i < graph_.links.size(); ++i) {
      const FabricLink& link = graph_.links[i];
      const int count = routing_ == Routing::spread ? counts_[i] : 1;
      links_.push_back({fmt::format("{} to {}", graph_.switches[link.from], graph_.switches[link.to]),
                        link.bytes_per_s, count});
    }
  }

  // Hops to `to` from every switch; links go both ways.
  const std::vector<std::uint32_t>& hops_to(std::uint32_t to) {
    const auto [known, is_new] = hops_.try_emplace(to);
    std::vector<std::uint32_t>& hops = known->second;
    if (!is_new) return hops;
    hops.assign(graph_.switches.size(), kFar);
    std::vector<std::uint32_t> queue = {to};
    hops[to] = 0;
    for (std::size_t next = 0; next < queue.size(); ++next) {
      for (const FabricLink& link : graph_.leaving(queue[next])) {
        if (hops[link.to] != kFar) continue;
        hops[link.to] = hops[queue[next]] + 1;
        queue.push_back(link.to);
      }
    }
    return hops;
  }

  const std::vector<std::uint32_t>& reachable(std::uint32_t from, std::uint32_t to) {
    const std::vector<std::uint32_t>& hops = hops_to(to);
    if (hops[from] == kFar) {
      fail_infeasible({}, fmt::format("no path from {} to {}", graph_.switches[from], graph_.switches[to]),
                      "join them in cluster.fabric, or keep groups of ranks where paths exist");
    }
    return hops;
  }

  std::vector<LinkShare> all_paths(std::uint32_t from, std::uint32_t to) {
    const std::vector<std::uint32_t>& hops = reachable(from, to);
    std::vector<LinkShare> out;
    std::map<std::uint32_t, double> at = {{from, 1.0}};  // shares of the message, as many hops away
    for (std::uint32_t left = hops[from]; left > 0; --left) {
      std::map<std::uint32_t, double> next;
      for (const auto& [here, share] : at) {
        double width = 0;
        for_each_next(here, hops, [&](std::uint32_t, const FabricLink& link) { width += link.bytes_per_s; });
        for_each_next(here, hops, [&, share = share](std::uint32_t id, const FabricLink& link) {
          out.push_back({id, share * link.bytes_per_s / width});
          next[link.to] += out.back().share;
        });
      }
      at = std::move(next);
    }
    return out;
  }

  std::vector<LinkShare> one_path(std::uint32_t from, std::uint32_t to, std::uint64_t hash) {
    const std::vector<std::uint32_t>& hops = reachable(from, to);
    std::vector<LinkShare> out;
    std::vector<std::uint32_t> choices;
    while (from != to) {
      choices.clear();
      for_each_next(from, hops, [&](std::uint32_t id, const FabricLink&) { choices.push_back(id); });
      hash = mixed(hash ^ from);
      out.push_back({choices[hash % choices.size()], 1});
      from = graph_.links[out.back().link].to;
    }
    return out;
  }

  template <class Visit>
  void for_each_next(std::uint32_t at, const std::vector<std::uint32_t>& hops, const Visit& visit) const {
    for (std::uint32_t id = graph_.first[at]; id < graph_.first[at + 1]; ++id) {
      if (hops[graph_.links[id].to] + 1 == hops[at]) visit(id, graph_.links[id]);
    }
  }

  FabricGraph given_;
  Routing routing_;
  std::uint64_t seed_;
  Colours colours_;    // of each switch of the given graph: its number in graph_
  FabricGraph graph_;
  std::vector<int> counts_;
  std::vector<RoutedLink> links_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> hops_;
  std::unordered_map<std::uint64_t, std::vector<LinkShare>> spread_;
  std::vector<LinkShare> path_;
};

Routes::Routes(FabricGraph graph, Routing routing, std::uint64_t seed)
    : table_(std::make_unique<Table>(std::move(graph), routing, seed)) {}
Routes::~Routes() = default;
Routes::Routes(Routes&&) noexcept = default;
Routes& Routes::operator=(Routes&&) noexcept = default;

std::span<const RoutedLink> Routes::links() const { return table_->links(); }

std::span<const LinkShare> Routes::between(int from, int to) { return table_->between(from, to); }

}  // namespace mirfak
