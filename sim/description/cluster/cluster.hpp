#pragma once

#include "cluster/catalog.hpp"
#include "cluster/fabric.hpp"
#include "cluster/facility.hpp"
#include "cluster/perturbations.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Number of nodes of one type, with the price of their GPUs. A node of several kinds of GPU is an allotment for each
// kind, of one node, in the order of its parts.
struct NodeAllotment {
  NodeHardware hardware;
  int count = 0;
  std::optional<PriceSpec> price;         // absent: nobody is known to offer its GPU at the requested price
  std::string price_asked = "on-demand";  // as in a scenario, in YAML: spot, gcp/on-demand, 2.5

  int gpus() const { return count * hardware.spec.gpus_of_kind(); }
  // The nodes, of which one with several kinds of GPU counts with its first kind alone.
  int nodes() const { return hardware.spec.part.first == 0 ? count : 0; }
};

struct NodeGroup : NodeAllotment {
  int first_node = 0;    // index of its first node in the cluster; kinds of GPU of one node share it
  int first_device = 0;  // index of its first GPU in the cluster
};

// Place of a device. Indices count over the whole cluster, except `local`, which counts within the node.
struct DevicePlace {
  int group = 0;
  int node = 0;
  int local = 0;
  int domain = 0;  // scale-up domain: devices of one domain share NVLink
  int gpu = 0;     // below physical_gpus(), and equal for devices on one GPU, which their ranks share
};

// Cluster of nodes. Devices, nodes and domains are numbered from 0, group after group, node after node. A cluster never
// changes, and copies share their data: references into it are valid as long as any copy lives.
class Cluster {
 public:
  // Throws Error(input) without `where` for an empty list, a count below 1, or more than 2^20 GPUs. All kinds of GPU of
  // a node must follow each other.
  Cluster(std::vector<NodeAllotment> nodes, Fabric fabric, Perturbations perturbations = {}, Facility facility = {});

  std::span<const NodeGroup> groups() const { return held_->groups; }
  // The groups as people list them: with several kinds of GPU in a node, equal nodes that follow each other are one
  // group for each kind, whose first node and device are those of the first of these nodes.
  std::vector<NodeGroup> kinds() const;
  bool mixes_gpus() const;  // true if some node holds several kinds of GPU
  const Fabric& fabric() const { return held_->fabric; }
  const Perturbations& perturbations() const { return held_->perturbations; }  // rank r is device r

  bool is(const Cluster& other) const { return held_ == other.held_; }  // true for copies of one cluster

  const Facility& facility() const { return held_->facility; }
  int gpus() const { return held_->gpus; }
  int physical_gpus() const { return held_->physical_gpus; }  // each counted once even if several ranks share it
  double host_power_w() const;                                // power of all nodes without their GPUs, while they work
  // The same of nodes without work; of types whose idle power is not known it is that with work.
  double idle_host_power_w() const;
  int nodes() const { return held_->nodes; }
  int domains() const { return held_->domains; }
  // Names the groups that have no price: "no price for h20 at gcp/spot, mi210 at on-demand"; empty: all have a price.
  std::string missing_prices() const;
  bool shares_gpus() const;  // true if several ranks run on one GPU anywhere

  // Need 0 <= device < gpus(), 0 <= node < nodes(); O(log groups).
  DevicePlace place_of(int device) const;
  const NodeGroup& group_of(int device) const;
  const GpuSpec& gpu_of(int device) const { return group_of(device).hardware.gpu; }

 private:
  struct Held {
    std::vector<NodeGroup> groups;
    std::vector<int> first_domain;  // first domain of each group
    std::vector<int> first_gpu;     // GPUs of the groups before each
    Fabric fabric;
    Perturbations perturbations;
    Facility facility;
    int gpus = 0;
    int physical_gpus = 0;
    int nodes = 0;
    int domains = 0;
  };
  std::size_t group_index(int device) const;

  std::shared_ptr<const Held> held_;
};

// Reads the `cluster` section of a scenario: nodes: [{type, count, gpus, ranks_per_gpu, network, ports, topology,
// scale_up, cooling, feed, clock_mhz, gpu_power_limit_w, disk_read_bandwidth, disk_write_bandwidth, price}] (a topology
// file is not opened here: network/fabric_file.hpp; of several kinds of GPU in a node, clock_mhz, gpu_power_limit_w and
// price may be lists), fabric (fabric.hpp), price (a choice of Catalog::price, "on-demand" if
// left out), perturbations (perturbations.hpp), and the keys of read_facility(). A power cap becomes limits of the
// GPUs. Strict; errors are at the place of the fault.
Cluster read_cluster(const Node& section, const Catalog& catalog);

// Distribution of a collective's ranks over nodes and domains, on which the price of the collective depends.
struct GroupShape {
  int ranks = 0;
  int nodes = 0;              // nodes that hold at least one of the ranks
  int ranks_per_node = 0;     // most ranks on one node
  int domains = 0;            // scale-up domains that hold at least one of the ranks
  int ranks_per_domain = 0;   // most ranks in one domain
  int fewest_per_domain = 0;  // fewest ranks in one of these domains
  int node_groups = 0;        // node types of these nodes; above 1 the slowest type decides

  friend auto operator<=>(const GroupShape&, const GroupShape&) = default;
};
// Returns the shape of a group. Devices may come in any order, each once. No devices: all fields are zero.
GroupShape shape_of(const Cluster& cluster, std::span<const int> devices);

}  // namespace mirfak
