#include "network/node_topology.hpp"

#include "base/units.hpp"
#include "network/cube_mesh.hpp"
#include "network/node_inside.hpp"
#include "network/text_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

namespace mirfak {

namespace {

// Line rates are rounded in data sheets and counted before encoding in files.
constexpr double kSameRate = 0.01;
constexpr int kMaxLinks = 1000;  // links between two GPUs, or of a GPU to a switch

bool same_rate(double a, double b) { return std::abs(a - b) <= kSameRate * b; }

std::string file_name(const NodeSpec& spec) { return std::filesystem::path(spec.topology.file).filename().string(); }

// Replaces the figures of one node type by those of its file.
class NodeFromFile {
 public:
  NodeFromFile(NcclTopology file, NodeHardware& hardware, bool alone)
      : hardware_(hardware), spec_(hardware.spec), where_(file.where), alone_(alone) {
    check_gpus(file);
    require_connected(file.graph);
    const double pcie = hardware.peers ? hardware.peers->bandwidth.value : hardware.host_link.bandwidth.value;
    inside_ = std::make_shared<NodeInside>(std::move(file), spec_.gpus / spec_.ranks_per_gpu,
                                           NodeInside::Unstated{pcie, hardware.network.bandwidth.value});
  }

  void apply() {
    set_scale_up();
    set_pcie();
    set_ports();
    spec_.topology.inside = inside_;
  }

 private:
  void check_gpus(const NcclTopology& file) const {
    const int found = static_cast<int>(file.gpus.size());
    const int used = spec_.gpus / spec_.ranks_per_gpu;
    if (file.hosts > 1) {
      fail_input(file.where, fmt::format("the processors are of {} hosts (host_hash)", file.hosts),
                 "give the file of one node: cluster.nodes says how many there are");
    }
    if (found != spec_.topology.gpus && found != used) {
      fail_input(file.where,
                 fmt::format("{} GPUs, and a node of type {} has {}", found, spec_.name, spec_.topology.gpus),
                 "give the file of such a node, or a node type with as many GPUs (cluster.nodes[].gpus for fewer)");
    }
    for (const NcclGpu& gpu : file.gpus) {
      const NetworkVertex& vertex = file.graph.vertices[static_cast<std::size_t>(gpu.vertex)];
      if (gpu.target.empty() || hardware_.gpu.target.empty() || gpu.target == hardware_.gpu.target) continue;
      fail_input(vertex.where,
                 fmt::format("{} is of {}, and the {} of node type {} of {}", vertex.name, gpu.target,
                             hardware_.gpu.name, spec_.name, hardware_.gpu.target),
                 "give the file of a node with such GPUs, or the node type of these");
    }
    for (std::size_t l = 0; l < file.graph.links.size(); ++l) {
      const NetworkLink& link = file.graph.links[l];
      const std::string& type = file.graph.link_types[static_cast<std::size_t>(link.type)];
      if (type != "nvlink" && type != "xgmi") continue;
      const double count = file.links[l];
      if (count < 1 || count > kMaxLinks || count != std::floor(count)) {
        fail_input(file.graph.vertices[static_cast<std::size_t>(link.a)].where,
                   fmt::format("a count of {} links", count), fmt::format("expected 1 to {}", kMaxLinks));
      }
      if (link.bandwidth != kNotStated) continue;
      fail_input(file.graph.vertices[static_cast<std::size_t>(link.a)].where,
                 "links of a GPU whose architecture is not stated: their rate is not known",
                 "add sm=\"80\", or gcn=\"gfx942\", to its <gpu>");
    }
  }

  // Returns the link of the type between GPUs over PCI Express, or refuses the file.
  const LinkSpec& peers() const {
    if (hardware_.peers) return *hardware_.peers;
    fail_input(
        spec_.topology.where,
        fmt::format("in {} GPUs reach each other over PCI Express, and {}, which node type {} has for it, is not "
                    "known to join GPUs",
                    file_name(spec_), hardware_.host_link.name, spec_.name),
        "give every two GPUs NVLinks, or choose a node type whose host_link joins GPUs, too (`mirfak list "
        "links`)");
  }

  void set_rate(Figure& rate, double value, const char* what) const {
    if (same_rate(value, rate.value)) return;
    rate = {value, fmt::format("{}: {}", file_name(spec_), what)};
  }

  void set_scale_up() {
    const ScaleUpKind kind = inside_->kind();
    const bool linked = kind == ScaleUpKind::switched || kind == ScaleUpKind::direct;
    if (linked && spec_.wiring == Wiring::host_bridge) {
      fail_input(where_, fmt::format("NVLinks, and node type {} has no link but {}", spec_.name, spec_.scale_up),
                 "say whose efficiencies and latencies they have: cluster.nodes[].scale_up, such as nvlink3 (`mirfak "
                 "list links`)");
    }
    if (!linked && spec_.topology.own_scale_up) {
      fail_input(spec_.topology.where,
                 fmt::format("scale_up names a link, and {} has none between GPUs", file_name(spec_)),
                 "leave scale_up out, or give its <gpu> elements their <nvlink>");
    }
    const bool in_rack = spec_.scale_up_domain > spec_.gpus;
    if (in_rack && kind != ScaleUpKind::switched && kind != ScaleUpKind::not_stated) {
      fail_input(where_,
                 fmt::format("no NVSwitches, and nodes of type {} form domains of {} GPUs over them", spec_.name,
                             spec_.scale_up_domain),
                 "give the GPUs links to NVSwitches (tclass 0x068000)");
    }
    if (kind == ScaleUpKind::switched) spec_.wiring = Wiring::switched;
    if (kind == ScaleUpKind::direct) set_direct();
    if (linked) set_rate(hardware_.scale_up.bandwidth, inside_->scale_up_rate(), "links of a GPU");
    if (inside_->needs_pcie()) static_cast<void>(peers());
  }

  // Decides if the direct links are those that the profile's figures of small groups were measured on.
  void set_direct() {
    const LinkSpec& link = hardware_.scale_up;
    const bool rate = !spec_.topology.own_scale_up && same_rate(inside_->scale_up_rate(), link.bandwidth.value);
    bool mesh = rate && spec_.wiring == Wiring::cube_mesh;
    bool full = rate && spec_.wiring == Wiring::switched && !link.efficiency_of_ranks.empty();
    const double each = inside_->gpus() > 1 ? inside_->links(0, 1) : 0;
    for (int a = 0; a < inside_->gpus(); ++a) {
      for (int b = 0; b < a; ++b) {
        mesh = mesh && inside_->links(a, b) == cube_mesh_links(a, b);
        full = full && each > 0 && inside_->links(a, b) == each;
      }
    }
    if (mesh || full) {
      inside_->keep_profile();
    } else {
      spec_.wiring = Wiring::cube_mesh;
    }
  }

  void set_pcie() {
    if (hardware_.peers)
      set_rate(hardware_.peers->bandwidth, inside_->pcie_rate(), "link_speed and link_width of a GPU");
    if (inside_->kind() == ScaleUpKind::none) {
      hardware_.scale_up = inside_->gpus() > 1 ? peers() : hardware_.scale_up;
      spec_.wiring = Wiring::host_bridge;
    } else if (spec_.wiring == Wiring::host_bridge) {
      hardware_.scale_up = peers();
    }
    if (std::isfinite(inside_->host_rate())) {
      set_rate(hardware_.host_link.bandwidth, inside_->host_rate(), "links of a GPU to its host, all at once");
    }
  }

  void set_ports() {
    const int nets = inside_->used_nets();
    if (nets == 0) {
      if (alone_) return;
      fail_input(where_, "no network card, and the cluster has several nodes",
                 "add <nic><net speed=\"200000\"/></nic> to a <pci> of its own, or take one node");
    }
    double sum = 0;
    for (int gpu = 0; gpu < inside_->gpus(); ++gpu) sum += inside_->port_share(gpu);
    spec_.ports = nets;
    set_rate(hardware_.network.bandwidth, sum / nets, "speed of a network card, and of what leads to it");
  }

  NodeHardware& hardware_;
  NodeSpec& spec_;
  Location where_;
  bool alone_;
  std::shared_ptr<NodeInside> inside_;
};

std::string links_text(const NodeHardware& node, const NodeInside& inside) {
  const std::string& link = node.scale_up.name;
  switch (inside.kind()) {
    case ScaleUpKind::not_stated:
      return fmt::format("it leaves the links between them to NCCL, and they are those of {}", link);
    case ScaleUpKind::none:
      return fmt::format("they reach each other over PCI Express, with efficiencies and latencies of {}", link);
    case ScaleUpKind::switched:
      return fmt::format("{} of each to switches, with efficiencies and latencies of {}",
                         format_rate(inside.scale_up_rate()), link);
    case ScaleUpKind::direct:
      break;
  }
  return fmt::format("{} of each to others directly, with efficiencies and latencies of {}{}",
                     format_rate(inside.scale_up_rate()), link,
                     inside.by_profile() ? ", whose wiring this is" : ", rings being found on the links of each group");
}

std::string ports_text(const NodeHardware& node, const NodeInside& inside) {
  if (inside.used_nets() == 0) return "no network cards";
  double least = inside.port_share(0);
  double most = least;
  for (int gpu = 0; gpu < inside.gpus(); ++gpu) {
    least = std::min(least, inside.port_share(gpu));
    most = std::max(most, inside.port_share(gpu));
  }
  const std::string share =
      same_rate(least, most) ? format_rate(most) : format_rate(least) + " to " + format_rate(most);
  return fmt::format("{} network cards, {} for each GPU when all send, with efficiencies and latencies of {}",
                     inside.used_nets(), share, node.network.name);
}

void add_unequal(const NodeHardware& node, const NodeInside& inside, std::vector<std::string>& notes) {
  const std::string file = file_name(node.spec);
  if (!inside.alike() && inside.gpus() > 1 && inside.kind() != ScaleUpKind::none) {
    notes.push_back(
        fmt::format("{}: GPUs are not all joined alike, and groups of GPUs with the same distances between "
                    "them take as long as the slowest of these in the node",
                    file));
  }
  if (inside.needs_pcie() && inside.kind() != ScaleUpKind::none) {
    notes.push_back(
        fmt::format("{}: some GPUs have no link between them; groups of which no ring of links joins all "
                    "communicate over PCI Express, with efficiencies and latencies of {}",
                    file, node.peers->name));
  }
  const std::vector<std::string> unused = inside.unused_nets();
  if (!unused.empty()) {
    notes.push_back(
        fmt::format("{}: {} without effect: nearest to no GPU that is used", file, fmt::join(unused, ", ")));
  }
}

void add_facts(const NodeHardware& node, const NodeInside& inside, std::vector<std::string>& notes) {
  const std::string file = file_name(node.spec);
  notes.push_back(fmt::format("{} is the inside of {}: {} GPUs, {}; {}; {} from each GPU to its host when all copy",
                              file, node.spec.name, inside.gpus(), links_text(node, inside), ports_text(node, inside),
                              format_rate(node.host_link.bandwidth.value)));
  for (const std::string& note : inside.file().graph.notes) notes.push_back(file + ": " + note);
  if (!inside.file().idle_attributes.empty()) {
    notes.push_back(
        fmt::format("{}: not understood and without effect: {}", file, fmt::join(inside.file().idle_attributes, ", ")));
  }
}

}  // namespace

std::vector<NodeAllotment> with_node_topologies(std::vector<NodeAllotment> nodes) {
  std::map<std::string, NcclTopology> files;
  const bool alone = nodes.size() == 1 && nodes.front().count == 1;
  for (NodeAllotment& allotment : nodes) {
    const NodeTopology& topology = allotment.hardware.spec.topology;
    if (!topology || topology.inside) continue;
    if (!files.contains(topology.file)) {
      files.emplace(topology.file, read_nccl_system(text_of_file(topology.file, topology.where), topology.file));
    }
    NodeFromFile(files.at(topology.file), allotment.hardware, alone).apply();
  }
  return nodes;
}

std::vector<std::string> topology_notes(const Cluster& cluster) {
  std::vector<std::string> out;
  for (const NodeGroup& group : cluster.groups()) {
    const NodeInside* const inside = group.hardware.spec.topology.inside.get();
    if (inside == nullptr) continue;
    std::vector<std::string> notes;
    add_facts(group.hardware, *inside, notes);
    add_unequal(group.hardware, *inside, notes);
    for (std::string& note : notes) {
      if (std::find(out.begin(), out.end(), note) == out.end()) out.push_back(std::move(note));
    }
  }
  return out;
}

}  // namespace mirfak
