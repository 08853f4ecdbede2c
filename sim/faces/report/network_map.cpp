#include "report/network_map.hpp"

#include "network/cluster_routes.hpp"
#include "network/topology.hpp"

#include <boost/range/iterator_range.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kMaxBoxes = 16;  // boxes of a row

class MapMaker {
 public:
  explicit MapMaker(const NetworkUse& use)
      : use_(use),
        topology_(use.places.network),
        first_(topology_.first_switch()),
        taken_as_(all_routes_of(use.places.network)->taken_as()),
        row_(static_cast<std::size_t>(topology_.vertices() - first_), 0),
        box_(row_.size(), -1) {}

  NetworkMap make() {
    find_rows();
    for (int row = map_.rows - 1; row > 0; --row) fill_row(row);
    add_devices();
    number_boxes();
    find_links();
    add_fabric();
    add_ports();
    for (auto& [ends, wire] : wires_) {
      wire.mean_use = wire.bytes / (wire.bytes_per_s * to_seconds(use_.to - use_.from));
      map_.wires.push_back(std::move(wire));
    }
    return std::move(map_);
  }

 private:
  std::size_t at(int vertex) const { return static_cast<std::size_t>(vertex - first_); }
  const TopologyVertex& vertex(int v) const { return topology_.graph()[static_cast<std::uint32_t>(v)]; }
  template <class Visit>
  void each_neighbour(int v, const Visit& visit) const {
    for (const auto& edge :
         boost::make_iterator_range(boost::out_edges(static_cast<std::uint32_t>(v), topology_.graph()))) {
      const int other = static_cast<int>(boost::target(edge, topology_.graph()));
      if (other >= first_) visit(other);
    }
  }

  int entry_of(int device) const {
    const auto ways = topology_.attachments(device);
    return ways.empty() ? -1 : ways.front().entry;
  }

  // Numbers rows by hops from devices; 0: not reached.
  void find_rows() {
    std::vector<int> queue;
    for (int device = 0; device < topology_.devices(); ++device) {
      const int entry = entry_of(device);
      if (entry < first_ || row_[at(entry)] > 0) continue;
      row_[at(entry)] = 1;
      queue.push_back(entry);
    }
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const int here = queue[next];
      each_neighbour(here, [&](int other) {
        if (row_[at(other)] > 0) return;
        row_[at(other)] = row_[at(here)] + 1;
        queue.push_back(other);
      });
    }
    const auto highest = std::max_element(row_.begin(), row_.end());
    map_.rows = highest == row_.end() ? 1 : *highest + 1;
  }

  // Returns the box above a switch; -1: none.
  int above(int v) const {
    int out = -1;
    each_neighbour(v, [&](int other) {
      if (row_[at(other)] == row_[at(v)] + 1 && out < 0) out = box_[at(other)];
    });
    return out;
  }

  // Returns the first switch of those that are taken together. Messages are spread over these switches, so one box has
  // them all.
  int first_like(int v) const { return first_ + static_cast<int>(taken_as_[at(v)]); }

  void fill_row(int row) {
    std::vector<int> members;
    for (int v = first_; v < topology_.vertices(); ++v) {
      if (row_[at(v)] == row) members.push_back(v);
    }
    const std::vector<std::function<int(int)>> ways = {[](int v) { return v; },
                                                       [this](int v) { return vertex(v).group; },
                                                       [this](int v) { return above(v); }, [](int) { return 0; }};
    for (const auto& key : ways) {
      std::set<int> keys;
      for (const int v : members) keys.insert(key(first_like(v)));
      if (keys.size() > kMaxBoxes || (keys.size() == 1 && &key != &ways.back())) continue;
      std::map<int, int> boxes;
      for (const int v : members) {
        const auto [known, is_new] = boxes.try_emplace(key(first_like(v)), static_cast<int>(map_.boxes.size()));
        if (is_new) map_.boxes.push_back({row, 0, 0, topology_.vertex_type(v), topology_.name(v), {}});
        put_into(known->second, topology_.name(v));
        box_[at(v)] = known->second;
      }
      return;
    }
  }

  void put_into(int box, const std::string& name) {
    NetworkMap::Box& into = map_.boxes[static_cast<std::size_t>(box)];
    ++into.count;
    into.last = name;
  }

  void add_devices() {
    device_box_.assign(static_cast<std::size_t>(topology_.devices()), -1);
    std::map<int, int> boxes;  // box of devices by the box of their switch
    for (int device = 0; device < topology_.devices(); ++device) {
      const int entry = entry_of(device);
      if (entry < first_) continue;
      const auto [known, is_new] = boxes.try_emplace(box_[at(entry)], static_cast<int>(map_.boxes.size()));
      if (is_new) map_.boxes.push_back({0, 0, 0, "GPU", topology_.name(device), {}});
      put_into(known->second, topology_.name(device));
      device_box_[static_cast<std::size_t>(device)] = known->second;
    }
  }

  // Numbers the boxes of each row from the left, by their first members: boxes were made in this order.
  void number_boxes() {
    std::vector<int> next(static_cast<std::size_t>(map_.rows), 0);
    for (NetworkMap::Box& box : map_.boxes) box.place = next[static_cast<std::size_t>(box.row)]++;
  }

  void find_links() {
    for (LinkId id = 0; id < use_.program.links.size(); ++id) {
      for (const LinkPlace& place : use_.program.links[id].stands_for) link_at_[{place.kind, place.index}] = id;
    }
  }

  // Adds `number` links with `bytes_per_s` together, and the use of the program's link at `place`.
  void add(int from, int to, const std::string& kind, double number, double bytes_per_s,
           std::pair<LinkKind, int> place) {
    NetworkMap::Wire& wire = wires_[{from, to, kind}];
    wire.from = from;
    wire.to = to;
    wire.kind = kind;
    wire.links += number;
    wire.bytes_per_s += bytes_per_s;
    const auto found = link_at_.find({place.first, static_cast<std::uint32_t>(place.second)});
    if (found == link_at_.end()) return;
    const LinkUsage& usage = use_.links[found->second];
    wire.bytes += usage.bytes;
    wire.peak_use = std::max(wire.peak_use, usage.peak_use);
    if (usage.held.empty()) return;
    wire.binding_links += number;
    wire.binds_s = std::max(wire.binds_s, usage.binds_s);
  }

  void add_fabric() {
    const FabricKinds kinds(use_.places.network);
    const auto links = all_routes_of(use_.places.network)->links();
    for (std::size_t i = 0; i < links.size(); ++i) {
      const RoutedLink& link = links[i];
      if (box_[link.from] < 0 || box_[link.to] < 0) continue;
      add(box_[link.from], box_[link.to], kinds.of(link), link.count, link.bytes_per_s,
          {LinkKind::fabric, static_cast<int>(i)});
    }
  }

  void add_ports() {
    for (std::size_t index = 0; index < use_.places.devices.size(); ++index) {
      const double share = use_.places.port_share[index];
      for (const int device : use_.places.devices[index]) {
        const int own = device_box_[static_cast<std::size_t>(device)];
        if (own < 0) continue;
        const int leaf = box_[at(entry_of(device))];
        add(own, leaf, kPortsOut, 1, share, {LinkKind::port_out, static_cast<int>(index)});
        add(leaf, own, kPortsIn, 1, share, {LinkKind::port_in, static_cast<int>(index)});
      }
    }
  }

  const NetworkUse& use_;
  Topology topology_;
  int first_;
  std::vector<std::uint32_t> taken_as_;  // Routes::taken_as()
  std::vector<int> row_;                 // row of each switch
  std::vector<int> box_;
  std::vector<int> device_box_;
  std::map<std::pair<LinkKind, std::uint32_t>, LinkId> link_at_;
  std::map<std::tuple<int, int, std::string>, NetworkMap::Wire> wires_;
  NetworkMap map_;
};

}  // namespace

int NetworkMap::boxes_in(int row) const {
  return static_cast<int>(std::count_if(boxes.begin(), boxes.end(), [row](const Box& box) { return box.row == row; }));
}

NetworkMap network_map(const NetworkUse& use) { return MapMaker(use).make(); }

}  // namespace mirfak
