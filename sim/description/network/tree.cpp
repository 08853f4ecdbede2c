// Clos networks: leaves, and levels of switches above them, up to one level that joins everything.
//
//   level 0   fat tree: all ports of a node on one leaf; rails: port i of every node of a pod on the pod's leaf i
//   level l   a block of several blocks of level l - 1. Uplink j of every leaf goes to spine j of its block. Uplink k
//             of switch s of a block of level 1 or higher goes to switch (s, k) of the block above: every switch of a
//             block has a plane of its own, as in a k-ary fat tree
//
// A switch has as many uplinks as links downwards unless `uplinks` states another number. Together the uplinks carry
// the bandwidth of the links downwards over the oversubscription. Rail-only: one such tree for each rail.
#include "network/topology_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

struct Switch {
  int vertex = 0;
  int links = 0;         // links downwards
  double bandwidth = 0;  // sum over the links downwards
};

struct Block {
  std::vector<Switch> switches;
  int parent = 0;  // number of its block in the level above
};

// Contents of the open block of a level.
struct Filling {
  int parts = 0;  // ports in use towards the level below
  int gpus = 0;
  int blocks = 0;  // blocks opened so far, the present one included
};

class TreeBuilder {
 public:
  explicit TreeBuilder(TopologyBuilder& builder)
      : builder_(builder),
        levels_(builder.fabric().stated_levels()),
        filling_(levels_.size()),
        rails_(builder.fabric().type != FabricType::fat_tree),
        apart_(builder.fabric().type == FabricType::rail_only) {}

  void build(const std::vector<NodePorts>& nodes) {
    parents_.resize(levels_.size());
    for (const NodePorts& node : nodes) attach(node);
    for (std::vector<Block>& tree : trees_) join_upwards(std::move(tree));
  }

 private:
  // Returns the highest level at which this node needs a new block; -1: every open block has room for the node.
  int full_level(const NodePorts& node) const {
    const int ports = node.width * (rails_ ? 1 : static_cast<int>(node.vertices.size()));
    const int gpus = node.group->hardware.spec.gpus;
    int full = filling_.front().blocks == 0 ? static_cast<int>(levels_.size()) - 1 : -1;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const FabricLevel& level = levels_[l];
      const bool takes_ports = l == 0 || full >= static_cast<int>(l) - 1;
      const int more = l == 0 ? ports : l == 1 && rails_ && !apart_ ? static_cast<int>(node.vertices.size()) : 1;
      const bool no_port = takes_ports && level.ports > 0 && filling_[l].parts + more > level.ports;
      const bool no_room = level.gpus > 0 && filling_[l].gpus + gpus > level.gpus;
      if (no_port || no_room) full = static_cast<int>(l);
    }
    return full;
  }

  void open_blocks(int full, const NodePorts& node) {
    for (int l = full; l >= 0; --l) {
      const auto at = static_cast<std::size_t>(l);
      filling_[at] = {0, 0, filling_[at].blocks + 1};
      if (at + 1 < levels_.size()) {
        filling_[at + 1].parts += l == 0 && rails_ && !apart_ ? static_cast<int>(node.vertices.size()) : 1;
        parents_[at].push_back(filling_[at + 1].blocks - 1);
      } else {
        parents_[at].push_back(0);
      }
    }
  }

  void attach(const NodePorts& node) {
    open_blocks(full_level(node), node);
    const int pod = filling_.front().blocks - 1;
    filling_.front().parts += node.width * (rails_ ? 1 : static_cast<int>(node.vertices.size()));
    for (Filling& level : filling_) level.gpus += node.group->hardware.spec.gpus;
    const int type = builder_.link_type("port to leaf");
    for (std::size_t i = 0; i < node.vertices.size(); ++i) {
      Switch& leaf = leaf_of(pod, rails_ ? i : 0);
      builder_.join(node.vertices[i], leaf.vertex, node.rates[i], node.latency_s, type);
      ++leaf.links;
      leaf.bandwidth += node.rates[i];
    }
  }

  // Returns a leaf. Separate rails are trees of their own; otherwise all leaves of a pod are one block.
  Switch& leaf_of(int pod, std::size_t rail) {
    const std::size_t tree = apart_ ? rail : 0;
    const std::size_t at = apart_ ? 0 : rail;
    if (trees_.size() <= tree) trees_.resize(tree + 1);
    std::vector<Block>& blocks = trees_[tree];
    while (static_cast<int>(blocks.size()) <= pod) blocks.push_back({{}, parents_.front()[blocks.size()]});
    std::vector<Switch>& leaves = blocks[static_cast<std::size_t>(pod)].switches;
    while (leaves.size() <= at) {
      const int place = static_cast<int>(rail);
      const int group = rails_ ? pod : levels_.size() > 1 ? blocks[static_cast<std::size_t>(pod)].parent : -1;
      leaves.push_back({builder_.add({VertexKind::leaf, -1, leaves_++, group, rails_ ? place : pod, 0}), 0, 0});
    }
    return leaves[at];
  }

  void join_upwards(std::vector<Block> blocks) {
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      std::erase_if(blocks, [](const Block& block) { return block.switches.empty(); });
      const bool alone = blocks.size() < 2 && (l > 0 || blocks.empty() || blocks.front().switches.size() < 2);
      if (alone) return;
      blocks = join_level(blocks, l);
    }
  }

  std::vector<Block> join_level(const std::vector<Block>& below, std::size_t l) {
    int count = 0;
    for (const Block& block : below) count = std::max(count, block.parent + 1);
    std::vector<Block> above(static_cast<std::size_t>(count));
    std::vector<std::vector<std::vector<int>>> planes(above.size());  // switches of each plane, by number
    const bool top = l + 1 == levels_.size();
    for (std::size_t i = 0; i < above.size(); ++i) above[i].parent = top ? 0 : parents_[l + 1][i];
    for (const Block& block : below) {
      const auto parent = static_cast<std::size_t>(block.parent);
      for (std::size_t s = 0; s < block.switches.size(); ++s) {
        std::vector<std::vector<int>>& of_parent = planes[parent];
        const std::size_t plane = l == 0 ? 0 : s;
        if (of_parent.size() <= plane) of_parent.resize(plane + 1);
        join_switch(block.switches[s], above[parent], of_parent[plane], l, top ? -1 : block.parent);
      }
    }
    return above;
  }

  void join_switch(const Switch& from, Block& above, std::vector<int>& plane, std::size_t l, int group) {
    const FabricLevel& level = levels_[l];
    const int uplinks = level.uplinks > 0 ? level.uplinks : from.links;
    const double bandwidth = from.bandwidth / uplinks / level.oversubscription;
    const int type = builder_.link_type(l == 0 ? "leaf to spine" : fmt::format("level {} to {}", l, l + 1));
    for (int j = 0; j < uplinks; ++j) {
      if (static_cast<int>(plane.size()) <= j) {
        plane.push_back(static_cast<int>(above.switches.size()));
        const int depth = static_cast<int>(l) + 1;
        const auto slot = static_cast<std::size_t>(depth);
        if (spines_.size() <= slot) spines_.resize(slot + 1);
        const int place = static_cast<int>(above.switches.size());
        above.switches.push_back({builder_.add({VertexKind::spine, -1, spines_[slot]++, group, place, depth}), 0, 0});
      }
      Switch& up = above.switches[static_cast<std::size_t>(plane[static_cast<std::size_t>(j)])];
      builder_.join(from.vertex, up.vertex, bandwidth, builder_.switch_latency_s(), type);
      ++up.links;
      up.bandwidth += bandwidth;
    }
  }

  TopologyBuilder& builder_;
  std::vector<FabricLevel> levels_;
  std::vector<Filling> filling_;           // open block of each level
  std::vector<std::vector<int>> parents_;  // parent of each block of each level
  std::vector<std::vector<Block>> trees_;  // leaves; one tree for each separate rail
  std::vector<int> spines_;                // number of spines so far on each level
  int leaves_ = 0;
  bool rails_;
  bool apart_;
};

}  // namespace

void build_tree(TopologyBuilder& builder, const std::vector<NodePorts>& nodes) { TreeBuilder(builder).build(nodes); }

}  // namespace mirfak
