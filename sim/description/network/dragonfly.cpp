// Dragonfly (Kim, Dally, Scott, Abts, ISCA 2008): groups of routers; every router is joined to every other router of
// its group, and every group to every other group by global links. Dragonfly+ (Shpiner et al., HiPINEB 2017): a group
// is a leaf-spine network, and the spines have the global links.
//
// A router takes nodes until `leaf_ports` of its ports are in use, and a group takes `group_routers` routers. Figures
// that are not stated are balanced: two routers of a group have as many links as their ports need to send at full rate,
// and a router has as many global links as ports towards nodes. The global links of a group are spread evenly over the
// other groups: the g-th neighbor (group + 1 + g modulo groups) gets the links m g to m g + m - 1, where router q / h
// has the q-th link. Each link has the rate of a node's port, a global link this rate over the oversubscription.
#include "network/topology_builder.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

struct Group {
  std::vector<int> routers;  // routers; in dragonfly+ the leaves
  std::vector<int> gates;    // vertices with the global links: the routers, in dragonfly+ the spines
};

class DragonflyBuilder {
 public:
  explicit DragonflyBuilder(TopologyBuilder& builder)
      : builder_(builder), fabric_(builder.fabric()), plus_(fabric_.type == FabricType::dragonfly_plus) {}

  void build(const std::vector<NodePorts>& nodes) {
    for (const NodePorts& node : nodes) attach(node);
    for (std::size_t g = 0; g < groups_.size(); ++g) join_group(groups_[g], static_cast<int>(g));
    join_groups();
  }

 private:
  void attach(const NodePorts& node) {
    const int ports = node.width * static_cast<int>(node.vertices.size());
    if (groups_.empty() || used_ + ports > fabric_.leaf_ports) {
      const bool full = groups_.empty() || static_cast<int>(groups_.back().routers.size()) >= fabric_.group_routers;
      if (full) groups_.emplace_back();
      Group& group = groups_.back();
      group.routers.push_back(builder_.add({VertexKind::router, -1, routers_++, static_cast<int>(groups_.size()) - 1,
                                            static_cast<int>(group.routers.size()), 0}));
      used_ = 0;
      links_ = 0;
    }
    used_ += ports;
    for (const double rate : node.rates) rate_ = std::max(rate_, rate);
    const int type = builder_.link_type("port to router");
    for (std::size_t i = 0; i < node.vertices.size(); ++i) {
      builder_.join(node.vertices[i], groups_.back().routers.back(), node.rates[i], node.latency_s, type);
    }
    links_ += static_cast<int>(node.vertices.size());
    most_links_ = std::max(most_links_, links_);
  }

  void join_group(Group& group, int number) {
    const int type = builder_.link_type("local link");
    const int count = static_cast<int>(group.routers.size());
    if (plus_) {
      const int spines = fabric_.group_spines > 0 ? fabric_.group_spines : fabric_.group_routers;
      const int each = (most_links_ + spines - 1) / spines;
      for (int s = 0; s < spines; ++s) {
        group.gates.push_back(builder_.add({VertexKind::router, -1, spines_++, number, s, 1}));
        for (const int leaf : group.routers) join(leaf, group.gates.back(), each, rate_, type);
      }
      return;
    }
    group.gates = group.routers;
    const int each = count > 1 ? (most_links_ + count - 2) / (count - 1) : 0;
    for (int i = 0; i < count; ++i) {
      for (int j = i + 1; j < count; ++j) {
        join(group.routers[static_cast<std::size_t>(i)], group.routers[static_cast<std::size_t>(j)], each, rate_, type);
      }
    }
  }

  void join(int a, int b, int count, double bandwidth, int type) {
    for (int i = 0; i < count; ++i) builder_.join(a, b, bandwidth, builder_.switch_latency_s(), type);
  }

  int gate(std::size_t group, int link) const {
    const std::vector<int>& gates = groups_[group].gates;
    return gates[static_cast<std::size_t>(link / global_links()) % gates.size()];
  }
  int global_links() const { return fabric_.global_links > 0 ? fabric_.global_links : most_links_; }

  void join_groups() {
    const std::size_t count = groups_.size();
    if (count < 2) return;
    std::size_t fewest = groups_.front().gates.size();
    for (const Group& group : groups_) fewest = std::min(fewest, group.gates.size());
    // A last group that is not full is joined by as many links as the others, shared by its fewer routers.
    const int links = static_cast<int>(groups_.front().gates.size()) * global_links();
    const int of_pair = links / static_cast<int>(count - 1);
    if (of_pair < 1) {
      fail_infeasible(fabric_.where,
                      fmt::format("{} groups cannot each be joined with every other by {} global links", count, links),
                      "raise cluster.fabric.global_links or group_routers");
    }
    const int type = builder_.link_type("global link");
    const double bandwidth = rate_ / fabric_.oversubscription;
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = a + 1; b < count; ++b) {
        const int from_a = static_cast<int>(b - a - 1) * of_pair;
        const int from_b = static_cast<int>(count - (b - a) - 1) * of_pair;
        for (int m = 0; m < of_pair; ++m) join(gate(a, from_a + m), gate(b, from_b + m), 1, bandwidth, type);
      }
    }
  }

  TopologyBuilder& builder_;
  const Fabric& fabric_;
  std::vector<Group> groups_;
  double rate_ = 0;     // rate of a link between routers: that of the fastest port
  int used_ = 0;        // physical ports of the last router
  int links_ = 0;       // links of the last router to nodes
  int most_links_ = 0;  // largest number of links of any router to nodes
  int routers_ = 0;
  int spines_ = 0;
  bool plus_;
};

}  // namespace

void build_dragonfly(TopologyBuilder& builder, const std::vector<NodePorts>& nodes) {
  DragonflyBuilder(builder).build(nodes);
}

}  // namespace mirfak
