#include "simulation/sensitivity.hpp"

#include "base/parallel.hpp"
#include "network/network_graph.hpp"
#include "simulation/anomalies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

namespace mirfak {

namespace {

using ResourceKind = HardwareResource::Kind;

constexpr double kRoundingOfTasks = 1e-7;  // share of an iteration: whole picoseconds, task by task

// Lists each resource once, in the order in which nodes have them.
class ResourceList {
 public:
  void add(ResourceKind kind, const std::string& of, std::string title, int level = 0) {
    if (!known_.emplace(kind, of, level).second) return;
    list_.push_back({kind, of, level, std::move(title)});
  }
  void add_link(const LinkSpec& link, const char* what) {
    add(ResourceKind::bandwidth, link.name, fmt::format("bandwidth of {} ({})", link.name, what));
    add(ResourceKind::latency, link.name, fmt::format("latency of {} ({})", link.name, what));
  }
  std::vector<HardwareResource> take() { return std::move(list_); }

 private:
  std::set<std::tuple<ResourceKind, std::string, int>> known_;
  std::vector<HardwareResource> list_;
};

bool has_unlike_ports(const NodeHardware& hardware) {
  const NodeTopology& topology = hardware.spec.topology;
  return topology.inside && !topology.inside->alike();
}

void add_nodes(const NodeHardware& hardware, ResourceList& list) {
  const std::string& gpu = hardware.gpu.name;
  const std::string& node = hardware.spec.name;
  list.add(ResourceKind::compute, gpu, "FLOP/s of " + gpu);
  list.add(ResourceKind::memory_bandwidth, gpu, "memory bandwidth of " + gpu);
  list.add(ResourceKind::launch_rate, gpu, "kernel launch rate of " + gpu);
  list.add(ResourceKind::power_limit, gpu, "power limit of " + gpu);
  list.add(ResourceKind::host_speed, node, "host speed of " + node);
  if (hardware.spec.host_memory_bandwidth)
    list.add(ResourceKind::host_memory, node, "host memory bandwidth of " + node);
  list.add_link(hardware.scale_up, "between the GPUs of a node");
  list.add_link(hardware.host_link, "to the host");
  if (hardware.peers) list.add_link(*hardware.peers, "between GPUs over the host");
  if (!has_unlike_ports(hardware)) list.add_link(hardware.network, "network ports");
}

void add_switches(const Fabric& fabric, ResourceList& list) {
  if (fabric.type == FabricType::full_bisection) return;
  if (fabric.graph && !fabric.graph->rates_from_cluster) {
    const std::vector<std::string>& types = fabric.graph->link_types;
    for (std::size_t i = 0; i < types.size(); ++i) {
      list.add(ResourceKind::switch_link, types[i], fmt::format("bandwidth of {} links ({})", types[i], fabric.title()),
               static_cast<int>(i));
    }
  } else {
    const auto levels = static_cast<int>(fabric.stated_levels().size());
    for (int level = 0; level < levels; ++level) {
      list.add(ResourceKind::switch_level, {},
               levels == 1 ? fmt::format("links between switches ({})", fabric.title())
                           : fmt::format("links upwards of switch level {} ({})", level + 1, fabric.title()),
               level);
    }
  }
  list.add(ResourceKind::switch_latency, {}, "latency of switches");
}

void multiply(Figure& figure, double factor) {
  if (factor != 1) figure.value *= factor;
}

void shorten_latencies(LinkSpec& link, double factor) {
  const double part = 1 / factor;
  for (Figure* figure : {&link.latency_s, &link.base_latency_s, &link.send_latency_s, &link.settling_s}) {
    multiply(*figure, part);
  }
  if (link.protocols) {
    for (Figure* figure : {&link.protocols->ll128_base_s, &link.protocols->ll128_step_s, &link.protocols->simple_base_s,
                           &link.protocols->simple_step_s}) {
      multiply(*figure, part);
    }
  }
  if (link.exchange) {
    for (Figure* figure : {&link.exchange->base_s, &link.exchange->peer_s, &link.exchange->settling_s,
                           &link.exchange->short_base_s, &link.exchange->short_peer_s}) {
      multiply(*figure, part);
    }
  }
  if (link.in_switch_reduction) {
    multiply(link.in_switch_reduction->base_s, part);
    multiply(link.in_switch_reduction->settling_s, part);
  }
}

void change_link(LinkSpec& link, const HardwareResource& resource, double factor) {
  if (link.name != resource.of) return;
  if (resource.kind == ResourceKind::bandwidth) multiply(link.bandwidth, factor);
  if (resource.kind == ResourceKind::latency) shorten_latencies(link, factor);
}

void change_links(NodeHardware& hardware, const HardwareResource& resource, double factor) {
  change_link(hardware.scale_up, resource, factor);
  change_link(hardware.host_link, resource, factor);
  change_link(hardware.network, resource, factor);
  if (hardware.peers) change_link(*hardware.peers, resource, factor);
}

void change_gpu(GpuSpec& gpu, const HardwareResource& resource, double factor) {
  if (gpu.name != resource.of) return;
  switch (resource.kind) {
    case ResourceKind::compute:
      for (auto& [precision, peak] : gpu.peak_flops) multiply(peak, factor);
      return;
    case ResourceKind::memory_bandwidth:
      return multiply(gpu.memory_bandwidth, factor);
    case ResourceKind::launch_rate:
      return multiply(gpu.kernel_launch_s, 1 / factor);
    case ResourceKind::power_limit:
      if (factor != 1) limit_power(gpu, std::max(lowest_limit_w(gpu), gpu.limit_w() * factor));
      return;
    default:
      return;
  }
}

void change_node(NodeSpec& spec, const HardwareResource& resource, double factor) {
  if (spec.name != resource.of) return;
  if (resource.kind == ResourceKind::host_speed) multiply(spec.host_factor, 1 / factor);
  if (resource.kind == ResourceKind::host_memory) multiply(*spec.host_memory_bandwidth, factor);
}

// Oversubscription of a tree level is kept at 1 or more: a level that does not block makes nothing shorter when it
// grows, and a value below 1 would hide that another level is short. Links of direct networks are shorter than ports at
// 1, too.
void widen_level(Fabric& fabric, int level, double factor) {
  const bool direct = fabric.type == FabricType::dragonfly || fabric.type == FabricType::dragonfly_plus ||
                      fabric.type == FabricType::torus_2d || fabric.type == FabricType::torus_3d;
  double& stated =
      fabric.levels.empty() ? fabric.oversubscription : fabric.levels[static_cast<std::size_t>(level)].oversubscription;
  const double before = stated;
  stated = direct ? stated / factor : std::max(1.0, stated / factor);
  if (!fabric.levels.empty()) fabric.oversubscription *= stated / before;
}

void change_fabric(Fabric& fabric, const HardwareResource& resource, double factor) {
  if (resource.kind == ResourceKind::switch_latency) return multiply(fabric.switch_latency_s, 1 / factor);
  if (resource.kind == ResourceKind::switch_level) widen_level(fabric, resource.level, factor);
  if (resource.kind != ResourceKind::switch_link) return;
  auto graph = std::make_shared<NetworkGraph>(*fabric.graph);
  for (NetworkLink& link : graph->links) {
    if (link.type == resource.level) link.bandwidth *= factor;
  }
  fabric.graph = std::move(graph);
}

}  // namespace

std::vector<HardwareResource> hardware_resources(const Cluster& cluster) {
  ResourceList list;
  for (const NodeGroup& group : cluster.groups()) add_nodes(group.hardware, list);
  add_switches(cluster.fabric(), list);
  return list.take();
}

std::vector<std::string> left_out_resources(const Cluster& cluster) {
  std::vector<std::string> out;
  for (const NodeGroup& group : cluster.groups()) {
    if (!has_unlike_ports(group.hardware)) continue;
    out.push_back(fmt::format("network ports of {}: not varied, as a file says which of its GPUs share which",
                              group.hardware.spec.name));
  }
  return out;
}

Cluster with_more(const Cluster& cluster, const HardwareResource& resource, double factor) {
  std::vector<NodeAllotment> nodes;
  for (const NodeGroup& group : cluster.groups()) {
    NodeAllotment& allotment = nodes.emplace_back(group);
    change_gpu(allotment.hardware.gpu, resource, factor);
    change_node(allotment.hardware.spec, resource, factor);
    change_links(allotment.hardware, resource, factor);
  }
  Fabric fabric = cluster.fabric();
  change_fabric(fabric, resource, factor);
  return Cluster(std::move(nodes), std::move(fabric), cluster.perturbations(), cluster.facility());
}

Sensitivity sensitivity_on(const Cluster& cluster, double seconds, double factor,
                           const std::function<IterationOnMore(const Cluster&)>& on) {
  Sensitivity out;
  out.factor = factor;
  out.iteration_time_s = seconds;
  out.notes = left_out_resources(cluster);
  const std::vector<HardwareResource> resources = hardware_resources(cluster);
  out.gains.resize(resources.size());
  std::vector<std::string> reasons(resources.size());
  parallel_for(resources.size(), [&](std::size_t i) {
    const IterationOnMore more = on(with_more(cluster, resources[i], factor));
    const double elasticity = factor == 1 ? 0 : std::log(seconds / more.seconds) / std::log(factor);
    out.gains[i] = {resources[i], more.seconds, seconds - more.seconds, elasticity};
    const bool longer = (factor > 1 ? more.seconds - seconds : seconds - more.seconds) > kRoundingOfTasks * seconds;
    if (longer) {
      reasons[i] = fmt::format("better {} makes the iteration longer: {}", resources[i].title, more.why());
    }
  });
  for (std::string& reason : reasons) {
    if (!reason.empty()) out.notes.push_back(std::move(reason));
  }
  std::stable_sort(out.gains.begin(), out.gains.end(),
                   [](const ResourceGain& a, const ResourceGain& b) { return a.gained_s > b.gained_s; });
  return out;
}

Sensitivity sensitivity(const Simulation& simulation, double factor, const LoweringOptions& options) {
  return sensitivity_on(
      simulation.job.cluster, simulation.result.iteration_time_s, factor, [&](const Cluster& cluster) {
        Job job = simulation.whole_job();
        job.cluster = cluster;
        const auto more = std::make_shared<const Simulation>(simulate(std::move(job), options));
        return IterationOnMore{more->result.iteration_time_s, [&simulation, more, factor] {
                                 return factor > 1 ? why_longer(simulation, *more) : why_longer(*more, simulation);
                               }};
      });
}

}  // namespace mirfak
