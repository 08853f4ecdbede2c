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

// So many nodes of one type.
struct NodeAllotment {
  NodeHardware hardware;
  int count = 0;
  std::optional<PriceSpec> price;         // absent: nobody is known to offer its GPU at the price asked for
  std::string price_asked = "on-demand";  // as a scenario writes it, in YAML: spot, gcp/on-demand, 2.5
};

struct NodeGroup : NodeAllotment {
  int first_node = 0;    // index in the cluster of its first node
  int first_device = 0;  // and of its first GPU
};

// Where a device is. Indices count over the whole cluster, but for `local`: within the node.
struct DevicePlace {
  int group = 0;
  int node = 0;
  int local = 0;
  int domain = 0;  // scale-up domain: the devices of one share NVLink
  int gpu = 0;     // equal for devices that are one GPU, which ranks share
};

// Devices, nodes and domains are numbered from 0, group after group, node after node. Never changes, and copies share
// what they hold: references into it are good as long as any copy lives.
class Cluster {
 public:
  // Error(input) without `where` for an empty list, a count below 1, or more than 2^20 GPUs.
  Cluster(std::vector<NodeAllotment> nodes, Fabric fabric, Perturbations perturbations = {}, Facility facility = {});

  std::span<const NodeGroup> groups() const { return held_->groups; }
  const Fabric& fabric() const { return held_->fabric; }
  const Perturbations& perturbations() const { return held_->perturbations; }  // of rank r, which is device r

  bool is(const Cluster& other) const { return held_ == other.held_; }  // a copy of it

  const Facility& facility() const { return held_->facility; }
  int gpus() const { return held_->gpus; }
  int physical_gpus() const;    // each counted once, however many ranks share it
  double host_power_w() const;  // of all nodes: what is not their GPUs'
  int nodes() const { return held_->nodes; }
  int domains() const { return held_->domains; }
  // Of the groups that have no price: "no price for h20 at gcp/spot, mi210 at on-demand"; empty: all have one.
  std::string missing_prices() const;
  bool shares_gpus() const;  // whether anywhere several ranks run on one GPU

  // 0 <= device < gpus(), 0 <= node < nodes(); O(log groups).
  DevicePlace place_of(int device) const;
  const NodeGroup& group_of(int device) const;
  const GpuSpec& gpu_of(int device) const { return group_of(device).hardware.gpu; }

 private:
  struct Held {
    std::vector<NodeGroup> groups;
    std::vector<int> first_domain;  // of each group
    Fabric fabric;
    Perturbations perturbations;
    Facility facility;
    int gpus = 0;
    int nodes = 0;
    int domains = 0;
  };
  std::size_t group_index(int device) const;

  std::shared_ptr<const Held> held_;
};

// Reads the `cluster` section of a scenario: nodes: [{type, count, gpus, ranks_per_gpu, network, ports, topology,
// scale_up, clock_mhz, gpu_power_limit_w}] (a topology is not opened: network/fabric_file.hpp), fabric (fabric.hpp),
// price (a choice of Catalog::price, "on-demand" when left out), perturbations (perturbations.hpp), and what
// read_facility() reads; a power cap becomes limits of the GPUs. Strict; errors at the place of the fault.
Cluster read_cluster(const Node& section, const Catalog& catalog);

// What the price of a collective depends on: how its ranks are spread.
struct GroupShape {
  int ranks = 0;
  int nodes = 0;              // that hold at least one of them
  int ranks_per_node = 0;     // the most on one node
  int domains = 0;            // scale-up domains that hold at least one of them
  int ranks_per_domain = 0;   // the most in one domain
  int fewest_per_domain = 0;  // the fewest in one of those domains
  int node_groups = 0;        // node types among them: above 1 the slowest decides

  friend auto operator<=>(const GroupShape&, const GroupShape&) = default;
};
// Devices may come in any order, each once. Empty: all zero.
GroupShape shape_of(const Cluster& cluster, std::span<const int> devices);

}  // namespace mirfak
