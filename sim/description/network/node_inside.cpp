#include "network/node_inside.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace mirfak {

namespace {

std::size_t at_gpu(int gpu) { return static_cast<std::size_t>(gpu); }

const InsideWay& slower_way(const InsideWay& a, const InsideWay& b) {
  return std::tuple(!a.over_pcie, a.share) <= std::tuple(!b.over_pcie, b.share) ? a : b;
}

}  // namespace

GroupInside slower_of(const GroupInside& a, const GroupInside& b) {
  const bool both = a.port_share > 0 && b.port_share > 0;
  return {slower_way(a.ring, b.ring), slower_way(a.exchange, b.exchange), slower_way(a.send, b.send),
          both ? std::min(a.port_share, b.port_share) : std::max(a.port_share, b.port_share)};
}

NodeInside::NodeInside(NcclTopology topology, int gpus, Unstated unstated)
    : file_(std::move(topology)), tree_(file_.graph) {
  put_in_order(gpus);
  const std::size_t n = vertex_.size();
  count_.assign(n * n, 0);
  total_.assign(n, 0);
  to_host_.assign(n, 0);
  for (const int vertex : vertex_) {
    if (tree_.rate(vertex) == kNotStated) tree_.set_rate(vertex, unstated.pcie);
    pcie_rate_ = std::max(pcie_rate_, tree_.rate(vertex));
  }
  read_links();
  deal_nets(unstated.port);
  share_nets();
  share_host();
}

void NodeInside::put_in_order(int gpus) {
  std::vector<std::size_t> order(file_.gpus.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto all = [&](int NcclGpu::*number) {
    std::set<int> seen;
    return std::all_of(file_.gpus.begin(), file_.gpus.end(),
                       [&](const NcclGpu& gpu) { return gpu.*number >= 0 && seen.insert(gpu.*number).second; });
  };
  const auto by = [&](int NcclGpu::*number) {
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return file_.gpus[a].*number < file_.gpus[b].*number; });
  };
  const auto name = [&](std::size_t gpu) -> const std::string& {
    return file_.graph.vertices[at_gpu(file_.gpus[gpu].vertex)].name;
  };
  if (all(&NcclGpu::rank)) {
    by(&NcclGpu::rank);
  } else if (all(&NcclGpu::dev)) {
    by(&NcclGpu::dev);
  } else {
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return name(a) < name(b); });
  }
  order.resize(std::min(order.size(), at_gpu(gpus)));
  for (const std::size_t gpu : order) vertex_.push_back(file_.gpus[gpu].vertex);
}

void NodeInside::read_links() {
  const NetworkGraph& graph = file_.graph;
  std::vector<int> gpu_of(graph.vertices.size(), -1);
  for (int gpu = 0; gpu < gpus(); ++gpu) gpu_of[at_gpu(vertex_[at_gpu(gpu)])] = gpu;
  std::vector<int> switch_of(graph.vertices.size(), -1);
  bool direct = false;
  for (std::size_t l = 0; l < graph.links.size(); ++l) {
    const NetworkLink& link = graph.links[l];
    const std::string& type = graph.link_types[at_gpu(link.type)];
    if (type != "nvlink" && type != "xgmi" && type != "c2c") continue;
    const bool first = gpu_of[at_gpu(link.a)] >= 0;
    const int gpu = gpu_of[at_gpu(first ? link.a : link.b)];
    const int other = first ? link.b : link.a;
    if (gpu < 0) continue;
    const VertexKind kind = graph.vertices[at_gpu(other)].kind;
    if (kind == VertexKind::host) {
      to_host_[at_gpu(gpu)] += link.bandwidth;
    } else if (kind == VertexKind::node_switch) {
      int& at = switch_of[at_gpu(other)];
      if (at < 0) {
        at = static_cast<int>(to_switch_.size());
        to_switch_.emplace_back(vertex_.size(), 0.0);
      }
      to_switch_[at_gpu(at)][at_gpu(gpu)] += link.bandwidth;
    } else if (gpu_of[at_gpu(other)] >= 0) {
      const int peer = gpu_of[at_gpu(other)];
      count_[index(gpu, peer)] += file_.links[l];
      count_[index(peer, gpu)] += file_.links[l];
      direct = true;
    }
    if (kind == VertexKind::device) {
      link_rate_ = link.bandwidth / file_.links[l];
      total_[at_gpu(gpu)] += link.bandwidth;
      if (gpu_of[at_gpu(other)] >= 0) total_[at_gpu(gpu_of[at_gpu(other)])] += link.bandwidth;
    }
  }
  for (int gpu = 0; gpu < gpus(); ++gpu) {
    double& total = total_[at_gpu(gpu)];
    if (!to_switch_.empty()) total = 0;
    for (const std::vector<double>& to : to_switch_) total += to[at_gpu(gpu)];
    scale_up_rate_ = std::max(scale_up_rate_, total);
  }
  const bool stated = std::any_of(file_.gpus.begin(), file_.gpus.end(), [](const NcclGpu& gpu) { return gpu.stated; });
  kind_ = !to_switch_.empty() ? ScaleUpKind::switched
          : direct            ? ScaleUpKind::direct
          : stated            ? ScaleUpKind::none
                              : ScaleUpKind::not_stated;
}

double NodeInside::between(int a, int b) const {
  double out = 0;
  if (kind_ == ScaleUpKind::direct) return links(a, b) * link_rate_;
  for (const std::vector<double>& to : to_switch_) out += std::min(to[at_gpu(a)], to[at_gpu(b)]);
  return out;
}

bool NodeInside::needs_pcie() const {
  if (kind_ == ScaleUpKind::not_stated || by_profile_) return false;
  for (int a = 0; a < gpus(); ++a) {
    for (int b = 0; b < a; ++b) {
      if (between(a, b) <= 0) return true;
    }
  }
  return false;
}

// Deals out cards in turn, each to the GPU with the fewest cards among the nearest GPUs. A GPU that is left without a
// card gets the card with the fewest GPUs among its nearest cards.
void NodeInside::deal_nets(double unstated_port) {
  nets_of_.resize(vertex_.size());
  const int nets = static_cast<int>(file_.nets.size());
  const auto distance = [&](int gpu, int net) {
    return tree_.distance(vertex_[at_gpu(gpu)], file_.nets[at_gpu(net)].vertex);
  };
  std::vector<NicDistance> nearest(vertex_.size(), NicDistance::other_processor);
  for (int gpu = 0; gpu < gpus(); ++gpu) {
    for (int net = 0; net < nets; ++net) nearest[at_gpu(gpu)] = std::min(nearest[at_gpu(gpu)], distance(gpu, net));
  }
  for (int net = 0; net < nets; ++net) {
    NcclNet& of = file_.nets[at_gpu(net)];
    if (of.bandwidth <= 0) of.bandwidth = unstated_port;
    int taker = -1;
    for (int gpu = 0; gpu < gpus(); ++gpu) {
      if (distance(gpu, net) != nearest[at_gpu(gpu)]) continue;
      if (taker < 0 || nets_of_[at_gpu(gpu)].size() < nets_of_[at_gpu(taker)].size()) taker = gpu;
    }
    if (taker >= 0) nets_of_[at_gpu(taker)].push_back(net);
  }
  std::vector<int> users(file_.nets.size(), 0);
  for (const std::vector<int>& own : nets_of_) {
    for (const int net : own) ++users[at_gpu(net)];
  }
  for (int gpu = 0; gpu < gpus(); ++gpu) {
    int best = -1;
    for (int net = 0; nets_of_[at_gpu(gpu)].empty() && net < nets; ++net) {
      if (distance(gpu, net) != nearest[at_gpu(gpu)]) continue;
      if (best < 0 || users[at_gpu(net)] < users[at_gpu(best)]) best = net;
    }
    if (best < 0) continue;
    nets_of_[at_gpu(gpu)].push_back(best);
    ++users[at_gpu(best)];
  }
  for (int net = 0; net < nets; ++net) {
    std::vector<int> of;
    for (int gpu = 0; gpu < gpus(); ++gpu) {
      const std::vector<int>& own = nets_of_[at_gpu(gpu)];
      if (std::find(own.begin(), own.end(), net) != own.end()) of.push_back(gpu);
    }
    if (of.empty()) continue;
    const auto found = std::find_if(ports_.begin(), ports_.end(), [&](const Port& port) { return port.gpus == of; });
    Port& port = found != ports_.end() ? *found : ports_.emplace_back(Port{{}, std::move(of), 0});
    port.nets.push_back(net);
    port.bandwidth += file_.nets[at_gpu(net)].bandwidth;
  }
  // Ports are ordered by their first GPUs, as rails are numbered.
  std::sort(ports_.begin(), ports_.end(), [](const Port& a, const Port& b) { return a.gpus < b.gpus; });
}

int NodeInside::port_of(int gpu) const {
  for (std::size_t port = 0; port < ports_.size(); ++port) {
    const std::vector<int>& of = ports_[port].gpus;
    if (std::find(of.begin(), of.end(), gpu) != of.end()) return static_cast<int>(port);
  }
  return -1;
}

int NodeInside::used_nets() const {
  return std::accumulate(ports_.begin(), ports_.end(), 0,
                         [](int sum, const Port& port) { return sum + static_cast<int>(port.nets.size()); });
}

std::vector<std::string> NodeInside::unused_nets() const {
  std::vector<std::string> out;
  for (int net = 0; net < static_cast<int>(file_.nets.size()); ++net) {
    const bool used = std::any_of(ports_.begin(), ports_.end(), [&](const Port& port) {
      return std::find(port.nets.begin(), port.nets.end(), net) != port.nets.end();
    });
    if (!used) out.push_back(file_.nets[at_gpu(net)].name);
  }
  return out;
}

void NodeInside::share_nets() {
  std::vector<double> capacity;
  for (int link = 0; link < tree_.links(); ++link) capacity.push_back(tree_.link_rate(link));
  const int first_net = tree_.links();
  for (const NcclNet& net : file_.nets) capacity.push_back(net.bandwidth);
  std::vector<TreeFlow> flows;
  for (int gpu = 0; gpu < gpus(); ++gpu) {
    TreeFlow& flow = flows.emplace_back();
    const std::vector<int>& own = nets_of_[at_gpu(gpu)];
    const int vertex = vertex_[at_gpu(gpu)];
    for (const int net : own) {
      const NcclNet& of = file_.nets[at_gpu(net)];
      const auto part = 1 / static_cast<double>(own.size());
      // Without GPUDirect RDMA, messages pass through the memory of the processor.
      const bool gdr = of.gdr && file_.gpus[at_gpu(vertex)].gdr;
      const std::vector<int> way = gdr ? tree_.way(vertex, of.vertex) : tree_.way_by_root(vertex, of.vertex);
      for (const int link : way) flow.links.emplace_back(link, part);
      flow.links.emplace_back(first_net + net, part);
    }
  }
  port_share_ = fair_rates(flows, capacity);
  for (int gpu = 0; gpu < gpus(); ++gpu) {
    if (nets_of_[at_gpu(gpu)].empty()) port_share_[at_gpu(gpu)] = 0;
    same_ports_ = same_ports_ && std::abs(port_share_[at_gpu(gpu)] - port_share_[0]) <= 1e-9 * port_share_[0];
  }
}

void NodeInside::share_host() {
  std::vector<double> capacity;
  for (int link = 0; link < tree_.links(); ++link) capacity.push_back(tree_.link_rate(link));
  std::vector<TreeFlow> flows;
  for (const int vertex : vertex_) {
    TreeFlow& flow = flows.emplace_back();
    for (const int link : tree_.way(vertex, -1)) flow.links.emplace_back(link, 1);
  }
  const std::vector<double> rates = fair_rates(flows, capacity);
  host_rate_ = std::numeric_limits<double>::infinity();
  for (std::size_t gpu = 0; gpu < rates.size(); ++gpu) {
    host_rate_ = std::min(host_rate_, to_host_[gpu] > 0 ? to_host_[gpu] : rates[gpu]);
  }
}

}  // namespace mirfak
