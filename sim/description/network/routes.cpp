#include "network/routes.hpp"

#include "base/error.hpp"
#include "base/random.hpp"
#include "cluster/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

namespace mirfak {

namespace {

constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();

using Colours = std::vector<std::uint32_t>;

Colours each_its_own(const FabricGraph& graph) {
  Colours colours(graph.switches.size());
  for (std::uint32_t at = 0; at < colours.size(); ++at) colours[at] = at;
  return colours;
}

}  // namespace

// Fabric with the switches of one color merged, and the routes that were asked for so far.
class Routes::Table {
 public:
  Table(FabricGraph given, Colours colours, Routing routing, std::uint64_t seed)
      : given_(std::move(given)), routing_(routing), seed_(seed), colours_(std::move(colours)) {
    name_switches(given_);
    graph_.links = routing == Routing::spread ? joined_links(given_) : given_.links;
    graph_.sort_links();
    name_links();
    find_inner();
  }

  std::span<const RoutedLink> links() const { return links_; }

  std::vector<std::uint32_t> taken_as() const {
    std::vector<std::uint32_t> out;
    for (const std::uint32_t colour : colours_) out.push_back(first_member_[colour]);
    return out;
  }

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
      path_ = one_path(from, to, split_mix(seed_ ^ split_mix(ends)));
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
    first_member_.resize(count);
    std::vector<int> members(count, 0);
    for (std::uint32_t at = 0; at < colours_.size(); ++at) {
      if (members[colours_[at]]++ > 0) continue;
      graph_.switches[colours_[at]] = graph.switches[at];
      first_member_[colours_[at]] = at;
    }
    for (std::uint32_t colour = 0; colour < count; ++colour) {
      if (members[colour] > 1) graph_.switches[colour] += fmt::format(" and {} alike", members[colour] - 1);
    }
  }

  std::vector<FabricLink> joined_links(const FabricGraph& graph) const {
    std::map<std::pair<std::uint32_t, std::uint32_t>, FabricLink> joined;
    for (const FabricLink& link : graph.links) {
      const std::pair ends(colours_[link.from], colours_[link.to]);
      FabricLink& all = joined.try_emplace(ends, FabricLink{ends.first, ends.second, 0, 0}).first->second;
      all.bytes_per_s += link.bytes_per_s;
      all.count += link.count;
    }
    std::vector<FabricLink> out;
    for (const auto& [ends, link] : joined) out.push_back(link);
    return out;
  }

  void name_links() {
    for (const FabricLink& link : graph_.links) {
      links_.push_back({fmt::format("{} to {}", graph_.switches[link.from], graph_.switches[link.to]), link.bytes_per_s,
                        link.count, first_member_[link.from], first_member_[link.to]});
    }
  }

  // Numbers the inner switches. A switch whose links all lead to one other switch can only be the end of a shortest
  // path. This holds for the leaves of a tree, most of its merged switches, so the search never has to visit them on
  // the way.
  void find_inner() {
    inner_.assign(graph_.switches.size(), kFar);
    std::uint32_t count = 0;
    for (std::uint32_t at = 0; at < inner_.size(); ++at) {
      const auto links = graph_.leaving(at);
      if (!links.empty() && links.front().to != links.back().to) inner_[at] = count++;
    }
    inner_begin_.push_back(0);
    for (std::uint32_t at = 0; at < inner_.size(); ++at) {
      for (std::uint32_t id = graph_.first[at]; id < graph_.first[at + 1]; ++id) {
        if (inner_[graph_.links[id].to] != kFar) inner_links_.push_back(id);
      }
      inner_begin_.push_back(static_cast<std::uint32_t>(inner_links_.size()));
    }
    inner_count_ = count;
  }

  std::span<const std::uint32_t> inner_links(std::uint32_t at) const {
    return {inner_links_.data() + inner_begin_[at], inner_links_.data() + inner_begin_[at + 1]};
  }

  // Returns the hops to `to` from every inner switch; links lead both ways.
  const std::vector<std::uint32_t>& hops_to(std::uint32_t to) {
    const auto [known, is_new] = hops_.try_emplace(to);
    std::vector<std::uint32_t>& hops = known->second;
    if (!is_new) return hops;
    hops.assign(inner_count_, kFar);
    std::vector<std::uint32_t> queue = {to};
    if (inner_[to] != kFar) hops[inner_[to]] = 0;
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const std::uint32_t here = queue[next] == to ? 0 : hops[inner_[queue[next]]];
      for (const std::uint32_t id : inner_links(queue[next])) {
        const std::uint32_t neighbour = graph_.links[id].to;
        if (hops[inner_[neighbour]] != kFar) continue;
        hops[inner_[neighbour]] = here + 1;
        queue.push_back(neighbour);
      }
    }
    return hops;
  }

  // Returns the parallel links between two switches, which are consecutive.
  std::span<const FabricLink> direct(std::uint32_t from, std::uint32_t to) const {
    const auto links = graph_.leaving(from);
    const auto [first, last] = std::equal_range(links.begin(), links.end(), FabricLink{from, to},
                                                [](const FabricLink& a, const FabricLink& b) { return a.to < b.to; });
    return {first, last};
  }

  std::uint32_t distance(std::uint32_t from, std::uint32_t to) {
    const std::vector<std::uint32_t>& hops = hops_to(to);
    std::uint32_t out = kFar;
    if (inner_[from] != kFar) {
      out = hops[inner_[from]];
    } else if (!direct(from, to).empty()) {
      out = 1;
    } else {
      for (const std::uint32_t id : inner_links(from)) {
        const std::uint32_t beyond = hops[inner_[graph_.links[id].to]];
        if (beyond != kFar) out = std::min(out, beyond + 1);
      }
    }
    if (out == kFar) {
      fail_infeasible({}, fmt::format("no path from {} to {}", graph_.switches[from], graph_.switches[to]),
                      "join them in cluster.fabric, or keep groups of ranks where paths exist");
    }
    return out;
  }

  std::vector<LinkShare> all_paths(std::uint32_t from, std::uint32_t to) {
    std::vector<LinkShare> out;
    std::map<std::uint32_t, double> at = {{from, 1.0}};  // shares of the message at this distance
    for (std::uint32_t left = distance(from, to); left > 0; --left) {
      std::map<std::uint32_t, double> next;
      for (const auto& [here, share] : at) {
        double width = 0;
        for_each_next(here, to, left, [&](std::uint32_t id) { width += graph_.links[id].bytes_per_s; });
        for_each_next(here, to, left, [&, share = share](std::uint32_t id) {
          out.push_back({id, share * graph_.links[id].bytes_per_s / width});
          next[graph_.links[id].to] += out.back().share;
        });
      }
      at = std::move(next);
    }
    return out;
  }

  std::vector<LinkShare> one_path(std::uint32_t from, std::uint32_t to, std::uint64_t hash) {
    std::vector<LinkShare> out;
    std::vector<std::uint32_t> choices;
    for (std::uint32_t left = distance(from, to); left > 0; --left) {
      choices.clear();
      for_each_next(from, to, left, [&](std::uint32_t id) { choices.push_back(id); });
      hash = split_mix(hash ^ from);
      out.push_back({choices[hash % choices.size()], 1});
      from = graph_.links[out.back().link].to;
    }
    return out;
  }

  // Visits the links that bring a message nearer to `to`, which is `left` hops away.
  template <class Visit>
  void for_each_next(std::uint32_t at, std::uint32_t to, std::uint32_t left, const Visit& visit) {
    if (left == 1) {
      for (const FabricLink& link : direct(at, to)) visit(static_cast<std::uint32_t>(&link - graph_.links.data()));
      return;
    }
    const std::vector<std::uint32_t>& hops = hops_to(to);
    for (const std::uint32_t id : inner_links(at)) {
      if (hops[inner_[graph_.links[id].to]] + 1 == left) visit(id);
    }
  }

  FabricGraph given_;
  Routing routing_;
  std::uint64_t seed_;
  Colours colours_;                          // number in graph_ of each switch of the given graph
  std::vector<std::uint32_t> first_member_;  // first switch in the given graph for each switch of graph_
  FabricGraph graph_;
  std::vector<RoutedLink> links_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> hops_;
  std::unordered_map<std::uint64_t, std::vector<LinkShare>> spread_;
  std::vector<LinkShare> path_;
  std::vector<std::uint32_t> inner_;  // number of each switch among the inner ones; kFar: not an inner switch
  std::uint32_t inner_count_ = 0;
  std::vector<std::uint32_t> inner_begin_;  // start of each switch's links to inner switches
  std::vector<std::uint32_t> inner_links_;
};

Routes::Routes(std::unique_ptr<Table> table) : table_(std::move(table)) {}

Routes Routes::spread(FabricGraph graph, std::vector<std::uint32_t> colours) {
  return Routes(std::make_unique<Table>(std::move(graph), std::move(colours), Routing::spread, 0));
}

Routes Routes::hashed(FabricGraph graph, std::uint64_t seed) {
  Colours colours = each_its_own(graph);
  return Routes(std::make_unique<Table>(std::move(graph), std::move(colours), Routing::hashed, seed));
}

Routes::~Routes() = default;
Routes::Routes(Routes&&) noexcept = default;
Routes& Routes::operator=(Routes&&) noexcept = default;

std::span<const RoutedLink> Routes::links() const { return table_->links(); }

std::vector<std::uint32_t> Routes::taken_as() const { return table_->taken_as(); }

std::span<const LinkShare> Routes::between(int from, int to) { return table_->between(from, to); }

}  // namespace mirfak
