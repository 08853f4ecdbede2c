#include "cluster/cluster.hpp"

#include "base/error.hpp"
#include "base/file_reference.hpp"
#include "base/units.hpp"
#include "base/yaml.hpp"
#include "cluster/disk_rates.hpp"
#include "cluster/gpu_throttle.hpp"
#include "cluster/profiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace mirfak {

namespace {

constexpr int kMaxClusterGpus = 1 << 20;
constexpr int kMaxNodePorts = 1024;
constexpr int kMaxRanksPerGpu = 64;
constexpr int kMaxKinds = 2048;  // kinds of GPU of all nodes that hold several: each is a group

// Gives ranks that share a GPU devices of their own.
void read_sharing(const Node& ranks, NodeSpec& spec) {
  if (spec.wiring == Wiring::cube_mesh) ranks.fail("a cube mesh joins 8 GPUs of one rank each");
  spec.ranks_per_gpu = static_cast<int>(ranks.as_integer(1, kMaxRanksPerGpu));
  spec.gpus *= spec.ranks_per_gpu;
  spec.scale_up_domain *= spec.ranks_per_gpu;
  spec.part.first *= spec.ranks_per_gpu;
  spec.part.gpus *= spec.ranks_per_gpu;
}

// Returns what a key states for one kind of GPU: one value for all kinds of the node, or a list with one for each.
Node of_kind(const Node& stated, std::size_t kind, std::size_t kinds) {
  if (kinds == 1 || !stated.is_sequence()) return stated;
  const std::vector<Node> each = stated.as_items();
  if (each.size() == kinds) return each[kind];
  stated.fail(fmt::format("{} values, and the node holds {} kinds of GPU", each.size(), kinds),
              "write one value for all of them, or a list with one for each of the parts");
}

void read_clock(const Node& clock, const GpuSpec& gpu, NodeSpec& spec) {
  const double lowest = gpu.clock_min_hz.value / kMegahertz;
  spec.clock_hz = clock.as_number(lowest, gpu.clock_max_hz.value / kMegahertz) * kMegahertz;
}

// Says why limits below lowest_limit_w() are refused.
std::string low_limits_text(const GpuSpec& gpu) {
  return fmt::format("{} draws {:g} W without work and {:g} W while it waits for others", gpu.name, gpu.idle_w.value,
                     gpu.blocked_w.value);
}

void read_power_limit(const Node& limit, GpuSpec& gpu) {
  const double watts = limit.as_number(1, gpu.tdp_w.value);
  if (watts < lowest_limit_w(gpu)) {
    limit.fail(fmt::format("a limit of {:g} W cannot be kept: {}", watts, low_limits_text(gpu)),
               fmt::format("expected {:.0f} to {:g} W", lowest_limit_w(gpu), gpu.tdp_w.value));
  }
  if (watts < gpu.tdp_w.value) limit_power(gpu, watts);
}

// Takes a part away from the power of hosts, because the cluster does without it.
void leave_out(const Node& asked, const std::optional<Figure>& part, const char* key, const char* what,
               NodeSpec& spec) {
  if (!part) {
    asked.fail(fmt::format("{} of {} is not known", what, spec.name),
               fmt::format("leave it out, or name the file of a node type that says {}", key));
  }
  spec.host_power_w.value -= part->value;
  spec.host_power_w.source += fmt::format("; less {:g} W: {}", part->value, part->source);
  spec.host_idle_power_w.reset();
}

// Reads how the cluster cools and feeds the nodes of an entry.
void read_surroundings(Mapping& entry, NodeSpec& spec) {
  if (const std::optional<Node> cooling = entry.find("cooling")) {
    spec.cooling = static_cast<Cooling>(cooling->as_choice(cooling_names()));
    if (spec.cooling == Cooling::immersion) {
      leave_out(*cooling, spec.fan_power_w, "fan_power_w", "the power of the fans", spec);
    }
  }
  if (const std::optional<Node> feed = entry.find("feed")) {
    spec.feed = static_cast<Feed>(feed->as_choice(feed_names()));
    if (spec.feed == Feed::direct_current) {
      leave_out(*feed, spec.supply_loss_w, "supply_loss_w", "the loss in the power supplies", spec);
    }
  }
}

// Reads the topology file of an entry, which describes the inside of its nodes: the links between GPUs, PCI Express and
// the network ports.
void read_topology(Mapping& entry, const Catalog& catalog, int gpus, NodeHardware& hardware) {
  const std::optional<Node> topology = entry.find("topology");
  const std::optional<Node> scale_up = entry.find("scale_up");
  if (topology && hardware.spec.part) {
    topology->fail("topology files describe nodes whose GPUs are of one kind", "leave it out, or the node's `parts`");
  }
  if (!topology) {
    if (scale_up) {
      scale_up->fail("the node type says what is between its GPUs",
                     "leave it out, or name a file of the node's inside, `topology`, whose links it is");
    }
    return;
  }
  hardware.spec.topology = {stated_path(*topology), gpus, scale_up.has_value(), topology->where(), nullptr};
  if (const std::optional<Node> ports = entry.find("ports")) {
    ports->fail("the node's topology says how many ports it has", "leave ports or topology out");
  }
  const bool by_host = hardware.spec.wiring == Wiring::host_bridge;
  const LinkSpec& between = by_host ? hardware.scale_up : hardware.host_link;
  if (std::find(between.joins.begin(), between.joins.end(), LinkEnd::gpus) != between.joins.end()) {
    hardware.peers = between;
  }
  if (!scale_up) return;
  hardware.scale_up = catalog.link(*scale_up, LinkEnd::gpus);
  hardware.spec.scale_up = FileReference(*scale_up).independent();
  hardware.spec.wiring = Wiring::cube_mesh;
}

// Reads the rates of the disks of its nodes.
void read_disks(Mapping& entry, NodeSpec& spec) {
  for (const DiskRate& rate : kDiskRates) {
    const std::optional<Node> stated = entry.find(rate.key);
    if (stated) spec.*rate.figure = Figure{stated->as_number(kLeastDiskRate, kLargestDiskRate), {}};
  }
}

// Reads how many GPUs of a node are used.
void read_gpus(const Node& gpus, NodeSpec& spec) {
  if (spec.part) {
    if (gpus.as_integer(1, spec.gpus) == spec.gpus) return;
    gpus.fail(fmt::format("the node holds several kinds of GPU, {} in all, and it is not clear which of them are meant",
                          spec.gpus),
              "write the GPUs that are used in `parts` of the node type");
  }
  const int nodes_per_domain = spec.scale_up_domain / spec.gpus;
  spec.gpus = static_cast<int>(gpus.as_integer(1, spec.gpus));
  spec.scale_up_domain = nodes_per_domain * spec.gpus;
}

// Reads the changes of an entry to its node type: another network, only some of the GPUs used, or several ranks on each
// GPU. Unused GPUs leave the ports and the host's power as they are. `kind`, `kinds`: number of the hardware among the
// kinds of GPU of its node, and their count.
void read_changes(Mapping& entry, const Catalog& catalog, std::size_t kind, std::size_t kinds, NodeHardware& hardware) {
  NodeSpec& spec = hardware.spec;
  const int gpus_of_type = spec.gpus;
  if (const std::optional<Node> gpus = entry.find("gpus")) read_gpus(*gpus, spec);
  if (const std::optional<Node> ranks = entry.find("ranks_per_gpu")) read_sharing(*ranks, spec);
  if (const std::optional<Node> network = entry.find("network")) {
    hardware.network = catalog.link(*network, LinkEnd::nodes);
    spec.network = FileReference(*network).independent();
  }
  read_topology(entry, catalog, gpus_of_type, hardware);
  spec.ports = static_cast<int>(entry.integer_or("ports", spec.ports, 1, kMaxNodePorts));
  read_disks(entry, spec);
  read_surroundings(entry, spec);
  if (const std::optional<Node> clock = entry.find("clock_mhz")) {
    read_clock(of_kind(*clock, kind, kinds), hardware.gpu, spec);
  }
  if (const std::optional<Node> limit = entry.find("gpu_power_limit_w")) {
    read_power_limit(of_kind(*limit, kind, kinds), hardware.gpu);
  }
}

// Finds the price of an allotment. `asked` is the price that the entry states, else the cluster's; nullptr: neither.
void find_price(const Node* asked, const Catalog& catalog, NodeAllotment& allotment) {
  const std::string& gpu = allotment.hardware.gpu.name;
  if (asked != nullptr && (allotment.price = stated_price(*asked, gpu))) {
    allotment.price_asked = fmt::format("{}", allotment.price->usd_per_gpu_hour.value);
    return;
  }
  const FileReference choice = asked != nullptr ? FileReference(*asked) : FileReference(allotment.price_asked);
  allotment.price = catalog.price(choice, gpu, allotment.hardware.spec.instance);
  const std::string text = Catalog::independent_price(choice);
  allotment.price_asked = text.front() == '/' ? quoted_yaml(text) : text;  // a path may hold anything
}

// Reads a node of an entry: an allotment for each kind of its GPUs.
std::vector<NodeAllotment> read_node(Mapping& entry, const Catalog& catalog, const std::optional<Node>& price) {
  std::vector<NodeHardware> kinds = catalog.stated_node(entry.require("type"));
  const std::optional<Node> own = entry.find("price");
  std::vector<NodeAllotment> out;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    NodeAllotment& allotment = out.emplace_back(NodeAllotment{std::move(kinds[kind]), 1, {}});
    const std::optional<Node> asked = own ? of_kind(*own, kind, kinds.size()) : price;
    find_price(asked ? &*asked : nullptr, catalog, allotment);
    read_changes(entry, catalog, kind, kinds.size(), allotment.hardware);
  }
  return out;
}

std::vector<NodeAllotment> read_nodes(const Node& section, const Catalog& catalog, const std::optional<Node>& price) {
  std::vector<NodeAllotment> allotments;
  int gpus = 0;
  int kinds = 0;  // of nodes that hold several
  for (const Node& item : section.as_items()) {
    Mapping mapping(item);
    std::vector<NodeAllotment> node = read_node(mapping, catalog, price);
    const NodeSpec& spec = node.front().hardware.spec;
    const int room = (kMaxClusterGpus - gpus) / spec.gpus;
    const auto of_node = static_cast<int>(node.size());
    const int most = spec.part ? std::min((kMaxKinds - kinds) / of_node, room) : room;
    const auto count = static_cast<int>(mapping.require("count").as_integer(1, std::max(1, most)));
    mapping.finish();
    gpus += count * spec.gpus;
    const int apart = spec.part ? count : 1;  // kinds of GPU of a node follow each other, node after node
    kinds += spec.part ? count * of_node : 0;
    node.front().count = count / apart;
    for (int i = 0; i < apart; ++i) allotments.insert(allotments.end(), node.begin(), node.end());
  }
  if (allotments.empty()) section.fail("expected at least one entry {type: ..., count: ...}");
  return allotments;
}

// Numbers the kinds of GPU of the entries; equal ones of equal nodes get one number. Types of one name may come from
// different files.
void number_entries(std::vector<NodeAllotment>& nodes) {
  const auto stated = [](const NodeHardware& of) {
    const NodeSpec& spec = of.spec;
    return std::tuple(
        std::tie(spec.asked, of.gpu.name, spec.host_link, spec.network, spec.scale_up, spec.topology.file),
        std::tuple(spec.gpus, spec.ranks_per_gpu, spec.ports, spec.clock_hz, of.gpu.power_limit_w, spec.cooling,
                   spec.feed));
  };
  std::map<decltype(stated(nodes.front().hardware)), int> known;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto [first, is_new] = known.try_emplace(stated(nodes[i].hardware), static_cast<int>(i));
    nodes[i].hardware.spec.entry = first->second;
  }
}

// Returns the nodes per domain. A scheduler places a job in blocks of equally many nodes (Slurm's topology/block with
// --segment), so that groups of ranks that fit into a rack do not straddle two: 32 nodes of racks of 18 as 2 x 16. The
// largest block of at least half a domain that divides the nodes is taken; if there is none, nodes are divided as
// evenly as possible.
int nodes_of_a_domain(const NodeSpec& spec, int count) {
  const int most = std::min(count, spec.scale_up_domain / spec.gpus);
  for (int nodes = most; 2 * nodes >= most; --nodes) {
    if (count % nodes == 0) return nodes;
  }
  const int domains = (count + most - 1) / most;
  return (count + domains - 1) / domains;
}

// Merges neighboring entries with equal nodes, because the way a list is written does not tell the borders of racks.
std::vector<NodeAllotment> merged(std::vector<NodeAllotment> nodes) {
  std::vector<NodeAllotment> out;
  for (NodeAllotment& next : nodes) {
    const bool same = !out.empty() && !next.hardware.spec.part && out.back().hardware == next.hardware &&
                      out.back().price == next.price;
    if (same && out.back().count >= 1 && next.count >= 1 && next.count <= kMaxClusterGpus - out.back().count) {
      out.back().count += next.count;
    } else {
      out.push_back(std::move(next));
    }
  }
  return out;
}

// Checks that the kinds of GPU of each node follow each other.
void check_parts(std::span<const NodeAllotment> nodes) {
  int next = 0;  // GPUs of the kinds before, in a node that has more
  for (const NodeAllotment& allotment : nodes) {
    const NodeSpec& spec = allotment.hardware.spec;
    if (spec.part.first != next || (spec.part && allotment.count != 1)) fail_internal("a node without all of its GPUs");
    next = spec.part ? (spec.part.first + spec.part.gpus) % spec.gpus : 0;
  }
  if (next != 0) fail_internal("a node without all of its GPUs");
}

bool equal_nodes(std::span<const NodeGroup> a, std::span<const NodeGroup> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const NodeGroup& one, const NodeGroup& other) {
    return one.hardware == other.hardware && one.price == other.price && one.price_asked == other.price_asked;
  });
}

}  // namespace

Cluster::Cluster(std::vector<NodeAllotment> nodes, Fabric fabric, Perturbations perturbations, Facility facility) {
  if (nodes.empty()) fail_input({}, "a cluster needs at least one node");
  Held held;
  held.fabric = std::move(fabric);
  held.perturbations = std::move(perturbations);
  held.facility = std::move(facility);
  // Nodes of another cluster may be divided among domains again.
  for (NodeAllotment& allotment : nodes) {
    NodeSpec& spec = allotment.hardware.spec;
    if (spec.scale_up_reach == 0) spec.scale_up_reach = spec.scale_up_domain;
    spec.scale_up_domain = spec.scale_up_reach;
  }
  check_parts(nodes);
  for (NodeAllotment& allotment : merged(std::move(nodes))) {
    const NodeSpec& spec = allotment.hardware.spec;
    if (allotment.count < 1 || allotment.count > (kMaxClusterGpus - held.gpus) / spec.gpus) {
      fail_input({}, "a cluster has 1 to 2^20 GPUs, and at least one node of each type");
    }
    const int nodes_per_domain = nodes_of_a_domain(spec, allotment.count);
    allotment.hardware.spec.scale_up_domain = nodes_per_domain * spec.gpus;
    const int begun = allotment.nodes() == 0 ? 1 : 0;  // a node of which the group is not the first kind of GPU
    held.first_domain.push_back(held.domains - begun);
    held.domains += (allotment.nodes() + nodes_per_domain - 1) / nodes_per_domain;
    held.first_gpu.push_back(held.physical_gpus);
    held.physical_gpus += allotment.gpus() / spec.ranks_per_gpu;
    const int gpus = allotment.gpus();
    const int count = allotment.nodes();
    held.groups.push_back({std::move(allotment), held.nodes - begun, held.gpus});
    held.nodes += count;
    held.gpus += gpus;
  }
  held_ = std::make_shared<const Held>(std::move(held));
}

std::size_t Cluster::group_index(int device) const {
  const std::vector<NodeGroup>& groups = held_->groups;
  const auto after = std::upper_bound(groups.begin(), groups.end(), device,
                                      [](int wanted, const NodeGroup& group) { return wanted < group.first_device; });
  return static_cast<std::size_t>(after - groups.begin()) - 1;
}

std::vector<NodeGroup> Cluster::kinds() const {
  const std::span<const NodeGroup> all = held_->groups;
  std::vector<NodeGroup> out;
  std::size_t last = 0;  // kinds of the node before
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin + 1;
    while (end < all.size() && all[end].nodes() == 0) ++end;
    const std::span<const NodeGroup> node = all.subspan(begin, end - begin);
    if (node.size() > 1 && last == node.size() && equal_nodes(std::span(out).last(last), node)) {
      for (NodeGroup& kind : std::span(out).last(last)) ++kind.count;
    } else {
      out.insert(out.end(), node.begin(), node.end());
      last = node.size();
    }
    begin = end;
  }
  return out;
}

bool Cluster::mixes_gpus() const {
  return std::any_of(held_->groups.begin(), held_->groups.end(),
                     [](const NodeGroup& group) { return group.hardware.spec.part.gpus > 0; });
}

bool Cluster::shares_gpus() const {
  return std::any_of(held_->groups.begin(), held_->groups.end(),
                     [](const NodeGroup& group) { return group.hardware.spec.ranks_per_gpu > 1; });
}

double Cluster::host_power_w() const {
  double watts = 0;
  for (const NodeGroup& group : held_->groups) watts += group.nodes() * group.hardware.spec.host_power_w.value;
  return watts;
}

double Cluster::idle_host_power_w() const {
  double watts = 0;
  for (const NodeGroup& group : held_->groups) watts += group.nodes() * group.hardware.spec.idle_host_w();
  return watts;
}

std::string Cluster::missing_prices() const {
  std::string out;
  for (const NodeGroup& group : kinds()) {
    if (group.price) continue;
    const std::string& instance = group.hardware.spec.instance;
    out += fmt::format("{}{}{} at {}", out.empty() ? "no price for " : ", ", group.hardware.gpu.name,
                       instance.empty() ? "" : fmt::format(" ({})", instance), group.price_asked);
  }
  return out;
}

const NodeGroup& Cluster::group_of(int device) const { return held_->groups[group_index(device)]; }

DevicePlace Cluster::place_of(int device) const {
  const std::size_t index = group_index(device);
  const NodeGroup& group = held_->groups[index];
  const NodeSpec& spec = group.hardware.spec;
  const int within = device - group.first_device;
  DevicePlace place;
  place.group = static_cast<int>(index);
  place.node = group.first_node + within / spec.gpus_of_kind();
  place.local = spec.part.first + within % spec.gpus_of_kind();
  place.gpu = held_->first_gpu[index] + within / spec.ranks_per_gpu;
  place.domain = held_->first_domain[index] + within / spec.scale_up_domain;
  return place;
}

namespace {

// Divides a cap on all GPUs: it limits each GPU to the same share of its own limit.
void divide_cap(const Node& cap, double cap_w, std::vector<NodeAllotment>& nodes) {
  double all_w = 0;
  double least_w = 0;
  for (const NodeAllotment& allotment : nodes) {
    const double gpus = static_cast<double>(allotment.gpus()) / allotment.hardware.spec.ranks_per_gpu;
    all_w += gpus * allotment.hardware.gpu.limit_w();
    least_w += gpus * lowest_limit_w(allotment.hardware.gpu);
  }
  for (NodeAllotment& allotment : nodes) {
    GpuSpec& gpu = allotment.hardware.gpu;
    const double limit_w = gpu.limit_w() * std::min(1.0, cap_w / all_w);
    if (limit_w < lowest_limit_w(gpu)) {
      cap.fail(fmt::format("a cap of {} leaves each {} {:.0f} of its {:g} W, and {}", format_watts(cap_w), gpu.name,
                           limit_w, gpu.tdp_w.value, low_limits_text(gpu)),
               fmt::format("{} is enough for all GPUs",
                           format_watts(std::max(least_w, cap_w * lowest_limit_w(gpu) / limit_w))));
    }
    if (limit_w < gpu.limit_w()) limit_power(gpu, limit_w);
  }
}

}  // namespace

Cluster read_cluster(const Node& section, const Catalog& catalog) {
  Mapping mapping(section);
  const std::optional<Node> price = mapping.find("price");
  std::vector<NodeAllotment> nodes = read_nodes(mapping.require("nodes"), catalog, price);
  const std::optional<Node> fabric = mapping.find("fabric");
  const std::optional<Node> perturbations = mapping.find("perturbations");
  Facility facility = read_facility(mapping, catalog.folder());
  mapping.finish();
  if (facility.power_floor) {
    for (NodeAllotment& allotment : nodes) {
      allotment.hardware.spec.dummy_work_slowdown = facility.power_floor->slowdown;
    }
  }
  if (facility.power_cap_w > 0) divide_cap(*mapping.find("power_cap_w"), facility.power_cap_w, nodes);
  number_entries(nodes);
  facility.asked = facility.asked || std::any_of(nodes.begin(), nodes.end(), [](const NodeAllotment& allotment) {
                     const NodeSpec& spec = allotment.hardware.spec;
                     return spec.cooling != Cooling::as_built || spec.feed != Feed::as_built;
                   });
  const Cluster even(nodes, fabric ? read_fabric(*fabric) : default_fabric());
  if (!perturbations) return {std::move(nodes), even.fabric(), {}, std::move(facility)};
  const RankPlaces places{even.gpus(), even.nodes(), [&](int rank) { return even.place_of(rank).node; }};
  return {std::move(nodes), even.fabric(), read_perturbations(*perturbations, places), std::move(facility)};
}

GroupShape shape_of(const Cluster& cluster, std::span<const int> devices) {
  GroupShape shape;
  shape.ranks = static_cast<int>(devices.size());
  std::vector<DevicePlace> places;
  places.reserve(devices.size());
  for (const int device : devices) places.push_back(cluster.place_of(device));

  // Devices of a node, a domain and a group are contiguous, so one sorted order is enough to count all three.
  if (!std::is_sorted(devices.begin(), devices.end())) {
    std::sort(places.begin(), places.end(), [](const DevicePlace& a, const DevicePlace& b) {
      return std::pair(a.node, a.local) < std::pair(b.node, b.local);
    });
  }
  const auto count = [&](int DevicePlace::*member, int& different, int& most, int& fewest) {
    int same = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const bool begins = i == 0 || places[i].*member != places[i - 1].*member;
      const bool ends = i + 1 == places.size() || places[i].*member != places[i + 1].*member;
      different += begins ? 1 : 0;
      same = begins ? 1 : same + 1;
      most = std::max(most, same);
      if (ends) fewest = different == 1 ? same : std::min(fewest, same);
    }
  };
  int unused = 0;
  count(&DevicePlace::node, shape.nodes, shape.ranks_per_node, unused);
  count(&DevicePlace::domain, shape.domains, shape.ranks_per_domain, shape.fewest_per_domain);
  count(&DevicePlace::group, shape.node_groups, unused, unused);
  return shape;
}

}  // namespace mirfak
