#pragma once

#include "simulation/iteration.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Something of which a cluster could have more.
struct HardwareResource {
  enum class Kind : std::uint8_t {
    compute,           // peak rates of a GPU type, in every precision
    memory_bandwidth,  // of a GPU type; what its second-level cache delivers grows with it
    launch_rate,       // of a GPU type: kernels in a row that can begin in a second
    power_limit,       // of a GPU type
    host_speed,        // of the processors of a node type, at issuing work
    host_memory,       // their memory's bandwidth
    bandwidth,         // of a kind of link that nodes have: between GPUs, to the host, of network ports
    latency,           // ... its latencies, divided
    switch_level,      // bandwidth of the links upwards from a level of switches; of dragonflies, global links
    switch_link,       // bandwidth of a type of links of a fabric that a file describes
    switch_latency,    // of each switch, divided
  };
  Kind kind{};
  std::string of;     // the name of the GPU, node or link type
  int level = 0;      // switch_level: from the leaves up; switch_link: index of NetworkGraph::link_types
  std::string title;  // "FLOP/s of h100", "bandwidth of nvlink4"
};

// What the nodes and the fabric of a cluster have, each type once. Not network ports of nodes that a file describes
// with GPUs unlike each other: what a group of them has of the ports is fixed when the file is read.
std::vector<HardwareResource> hardware_resources(const Cluster& cluster);
std::vector<std::string> left_out_resources(const Cluster& cluster);

// The cluster with `factor` times as much of it where profiles state it: rates times the factor, latencies and times
// over it. `factor` 1 makes an equal cluster. What is derived from it grows too: links between switches whose bandwidth
// is stated in terms of network ports.
Cluster with_more(const Cluster& cluster, const HardwareResource& resource, double factor);

// What more of one resource makes of an iteration.
struct ResourceGain {
  HardwareResource resource;
  double iteration_time_s = 0;  // with `factor` times as much
  double gained_s = 0;          // by which it is shorter; below 0: longer
  double elasticity = 0;        // d ln(rate) / d ln(resource): 1 where the iteration is bound by this alone
};

struct Sensitivity {
  double factor = 1;
  double iteration_time_s = 0;      // as it is
  std::vector<ResourceGain> gains;  // what gains most first
  std::vector<std::string> notes;   // what is left out, and why
};

// Simulates the job anew for each resource, on all cores. `factor` above 0; at 1 nothing changes, and elasticities are
// 0.
Sensitivity sensitivity(const Simulation& simulation, double factor, const LoweringOptions& options = {});

}  // namespace mirfak
