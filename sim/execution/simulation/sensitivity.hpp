#pragma once

#include "simulation/iteration.hpp"

#include <functional>
#include <string>
#include <vector>

namespace mirfak {

// A resource of which a cluster could have more.
struct HardwareResource {
  enum class Kind : std::uint8_t {
    compute,           // peak rates of a GPU type, in every precision
    memory_bandwidth,  // per GPU type; the bandwidth of its second-level cache grows with it
    launch_rate,       // per GPU type: kernels in a row that can begin in a second
    power_limit,       // per GPU type
    host_speed,        // speed of the processors of a node type at issuing work
    host_memory,       // memory bandwidth of these processors
    bandwidth,         // a kind of link of nodes: between GPUs, to the host, of network ports
    latency,           // latencies of such a kind of link, divided
    switch_level,      // bandwidth of the links upwards from a level of switches; in dragonflies, global links
    switch_link,       // bandwidth of a type of links of a fabric that a file describes
    switch_latency,    // latency of each switch, divided
  };
  Kind kind{};
  std::string of;     // name of the GPU, node or link type
  int level = 0;      // switch_level: from the leaves up; switch_link: index of NetworkGraph::link_types
  std::string title;  // "FLOP/s of h100", "bandwidth of nvlink4"
};

// Returns the resources of the nodes and the fabric of a cluster, each type once. Left out are network ports of nodes
// that a file describes with GPUs unlike each other: the share of the ports that a group of such GPUs has is fixed when
// the file is read.
std::vector<HardwareResource> hardware_resources(const Cluster& cluster);
std::vector<std::string> left_out_resources(const Cluster& cluster);

// Returns the cluster with `factor` times as much of the resource in the figures that profiles state: rates times the
// factor, latencies and times over it. `factor` 1 makes an equal cluster. Figures derived from the resource grow too:
// links between switches whose bandwidth is stated in terms of network ports.
Cluster with_more(const Cluster& cluster, const HardwareResource& resource, double factor);

// Effect of more of one resource on an iteration.
struct ResourceGain {
  HardwareResource resource;
  double iteration_time_s = 0;  // with `factor` times as much
  double gained_s = 0;          // decrease of the time; below 0: longer
  double elasticity = 0;        // d ln(rate) / d ln(resource): 1 if the iteration is bound by this alone
};

struct Sensitivity {
  double factor = 1;
  double iteration_time_s = 0;      // without any change
  std::vector<ResourceGain> gains;  // largest gain first
  std::vector<std::string> notes;   // resources that are left out and better ones that lengthen the iteration, and why
};

// An iteration on a cluster that has more of a resource.
struct IterationOnMore {
  double seconds = 0;
  // Reason why more of it makes the iteration longer, or less of it shorter; asked for in such cases only.
  std::function<std::string()> why;
};

// Executes an iteration of `seconds` on `cluster` again with more of each resource, on all cores. `on` must be usable
// from many threads. `factor` must be above 0; at 1 nothing changes, and elasticities are 0.
Sensitivity sensitivity_on(const Cluster& cluster, double seconds, double factor,
                           const std::function<IterationOnMore(const Cluster&)>& on);

// Simulates the job anew for each resource, on all cores. `factor` must be above 0; at 1 nothing changes, and
// elasticities are 0.
Sensitivity sensitivity(const Simulation& simulation, double factor, const LoweringOptions& options = {});

}  // namespace mirfak
