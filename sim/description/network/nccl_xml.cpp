#include "network/nccl_xml.hpp"

#include "base/text.hpp"
#include "base/units.hpp"
#include "network/xml_elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace mirfak {

namespace {

// Line rates of one link in one direction, GB/s: NVLink by compute capability, xGMI by gfx number. The first entry
// whose number is not above the GPU's applies.
struct LinkRate {
  int architecture;
  double gigabytes;
};
constexpr std::array<LinkRate, 5> kNvlink = {{{100, 50}, {90, 25}, {80, 25}, {70, 25}, {60, 20}}};
constexpr std::array<LinkRate, 4> kXgmi = {{{0x940, 64}, {0x90a, 50}, {0x908, 46}, {0x906, 46}}};
// GA10x has slower links than the architectures next to it by number.
constexpr LinkRate kNvlinkOfGa10x = {86, 14.0625};
constexpr double kLikelyNet = 10e6;  // Mb/s; a speed above this is likely in another unit

// Returns the attributes of the format, with or without an effect here.
const std::map<std::string, std::set<std::string>>& known_attributes() {
  static const std::map<std::string, std::set<std::string>> known = {
      {"system", {"version"}},
      {"cpu", {"numaid", "affinity", "arch", "vendor", "familyid", "modelid", "host_hash"}},
      {"pci",
       {"busid", "class", "vendor", "device", "subsystem_vendor", "subsystem_device", "link_speed", "link_width",
        "keep"}},
      {"gpu", {"dev", "sm", "gcn", "arch", "rank", "gdr", "keep"}},
      {"nic", {}},
      {"net",
       {"name", "dev", "speed", "port", "latency", "guid", "maxconn", "gdr", "coll", "keep", "parent", "plane", "rail",
        "railId", "planeId"}},
      {"nvlink", {"target", "count", "tclass"}},
      {"xgmi", {"target", "count", "tclass"}},
      {"pcilink", {"target"}},
      {"c2c", {"bw", "count"}}};
  return known;
}

constexpr int kMaxRank = 10'000'000;
constexpr int kGfxOfMi200 = 0x90a;

// Reads a gfx number from gcn="908" or gcn="gfx90a": its digits are hexadecimal.
int gfx_number(const XmlElement& gpu) {
  std::string_view text = gpu.attribute("gcn");
  if (text.starts_with("gfx")) text.remove_prefix(3);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail_input(gpu.where, fmt::format("gcn of <gpu>: expected a gfx number, found '{}'", excerpt(gpu.attribute("gcn"))),
               "for example gcn=\"908\" or gcn=\"gfx942\"");
  }
  return number == 0x910 ? kGfxOfMi200 : number;  // RCCL's number for it before gfx numbers had letters
}

template <std::size_t kSize>
double rate_among(const std::array<LinkRate, kSize>& rates, double number) {
  for (const LinkRate& rate : rates) {
    if (number >= rate.architecture) return rate.gigabytes * kGB;
  }
  return kNotStated;
}

double rate_of(const XmlElement& gpu, bool nvlink) {
  if (gpu.find(nvlink ? "sm" : "gcn") == nullptr) return kNotStated;
  if (!nvlink) return rate_among(kXgmi, gfx_number(gpu));
  const double number = gpu.number("sm", 0);
  if (number == kNvlinkOfGa10x.architecture) return kNvlinkOfGa10x.gigabytes * kGB;
  return rate_among(kNvlink, number);
}

// Returns bytes/s after encoding, from a speed such as "16.0 GT/s PCIe" and a width.
double pcie_rate(const XmlElement& pci) {
  const std::string* const speed = pci.find("link_speed");
  const std::string* const width = pci.find("link_width");
  if (speed == nullptr || width == nullptr || speed->empty()) return kNotStated;
  double transfers = 0;
  const auto [end, error] = std::from_chars(speed->data(), speed->data() + speed->size(), transfers);
  const std::string_view unit = trimmed(std::string_view(*speed).substr(static_cast<std::size_t>(end - speed->data())));
  if (error != std::errc() || transfers < 0) {
    if (speed->starts_with("Unknown")) return kNotStated;
    fail_input(pci.where, fmt::format("link_speed: expected gigatransfers per second, found '{}'", excerpt(*speed)),
               "for example link_speed=\"16.0 GT/s PCIe\"");
  }
  if (!unit.empty() && !unit.starts_with("GT/s")) {
    fail_input(pci.where, fmt::format("link_speed: expected GT/s, found '{}'", excerpt(*speed)),
               "for example link_speed=\"16.0 GT/s PCIe\"");
  }
  const double lanes = pci.number("link_width", 0);
  if (lanes == 0 || transfers == 0) return kNotStated;
  const double share = transfers < 8 ? 8.0 / 10 : transfers < 64 ? 128.0 / 130 : 242.0 / 256;
  return transfers * kGB / 8 * lanes * share;
}

std::string compile_target_of(const XmlElement& gpu) {
  if (gpu.find("gcn") != nullptr) return fmt::format("gfx{:x}", gfx_number(gpu));
  return gpu.find("sm") == nullptr ? "" : fmt::format("sm_{:.0f}", gpu.number("sm", 0));
}

bool is_net_class(const std::string& pci_class) {
  return pci_class.starts_with("0x0200") || pci_class.starts_with("0x0207");
}

bool is_gpu_class(const std::string& pci_class) {
  return pci_class.starts_with("0x0302") || pci_class.starts_with("0x0300") || pci_class.starts_with("0x0380") ||
         pci_class.starts_with("0x1200");
}

class NcclReader {
 public:
  explicit NcclReader(std::string file) : file_(std::move(file)) {}

  NcclTopology read(const XmlElement& root) {
    if (root.name != "system") {
      fail_input(root.where, fmt::format("<{}> is no topology of NCCL", excerpt(root.name)),
                 root.name == "graphs" ? "this is a file of rings and trees (NCCL_GRAPH_FILE); give NCCL_TOPO_FILE's"
                 : root.name == "topology" ? "this is a file of hwloc; give one that NCCL_TOPO_DUMP_FILE wrote"
                                           : "expected <system version=\"1\">");
    }
    for (const XmlElement& child : root.children) read_cpu(child);
    for (const auto& [gpu, element] : gpus_) read_gpu_links(gpu, *element);
    join_processors();
    if (graph_.vertices.empty()) fail_input(root.where, "a topology of nothing", "expected <cpu> elements");
    note_attributes(root);
    out_.where = root.where;
    out_.graph = finished(root);
    return std::move(out_);
  }

 private:
  void note_attributes(const XmlElement& element) {
    const auto known = known_attributes().find(element.name);
    for (const auto& [key, value] : element.attributes) {
      if (known == known_attributes().end() || known->second.contains(key)) continue;
      std::string idle = fmt::format("{} of <{}>", excerpt(key), element.name);
      if (std::find(out_.idle_attributes.begin(), out_.idle_attributes.end(), idle) == out_.idle_attributes.end()) {
        out_.idle_attributes.push_back(std::move(idle));
      }
    }
    for (const XmlElement& child : element.children) note_attributes(child);
  }

  int add(std::string name, std::string type, VertexKind kind, const XmlElement& of) {
    std::string unique = name;
    for (int number = 2; !names_.insert(unique).second; ++number) unique = fmt::format("{} ({})", name, number);
    graph_.vertices.push_back({unique, std::move(type), kind, true, of.where});
    return static_cast<int>(graph_.vertices.size()) - 1;
  }

  void join(int a, int b, const char* type, double bandwidth, double latency_s = 0, double count = 1) {
    out_.links.push_back(count);
    graph_.links.push_back({a, b, graph_.link_type(type), bandwidth, latency_s});
  }

  void read_cpu(const XmlElement& cpu) {
    if (cpu.name == "nic") fail_input(cpu.where, "a <nic> outside of a <cpu>", "put it into the <cpu> that it is near");
    if (cpu.name != "cpu") fail_input(cpu.where, fmt::format("expected <cpu>, found <{}>", excerpt(cpu.name)));
    const std::string* const host = cpu.find("host_hash");
    const std::string id = cpu.attribute("numaid");
    const std::string at = (host != nullptr ? *host : std::string("0")) + "/" + id;
    if (!cpus_.emplace(at, static_cast<int>(graph_.vertices.size())).second) {
      fail_input(cpu.where, fmt::format("a second processor has numaid {}", excerpt(id)), "give each its own");
    }
    const int vertex = add(fmt::format("cpu {}", id), "cpu", VertexKind::host, cpu);
    host_of_.emplace_back(vertex, host != nullptr ? *host : std::string());
    read_children(cpu, vertex);
  }

  void read_children(const XmlElement& of, int vertex) {
    for (const XmlElement& child : of.children) {
      if (child.name == "pci") {
        read_pci(child, vertex);
      } else if (child.name == "nic") {
        read_children(child, vertex);
      } else if (child.name == "net") {
        read_net(child, vertex);
      } else if (child.name == "gpu") {
        if (of.name != "pci") fail_input(child.where, "a <gpu> outside of a <pci>", "put it into the <pci> that it is");
        if (!gpus_.empty() && gpus_.back().first == vertex) {
          fail_input(child.where, "a second <gpu> in one <pci>", "give each a <pci> of its own");
        }
        gpus_.emplace_back(vertex, &child);
        add_gpu(vertex, child);
      } else if (child.name != "pcilink") {
        fail_input(child.where, fmt::format("<{}> is not known inside <{}>", excerpt(child.name), excerpt(of.name)),
                   "expected pci, nic, net or gpu");
      }
    }
  }

  void add_gpu(int vertex, const XmlElement& gpu) {
    const auto whole = [&](const char* key) {
      if (gpu.find(key) == nullptr) return -1;
      const double number = gpu.number(key, 0);
      if (number > kMaxRank || number != std::floor(number)) {
        fail_input(gpu.where, fmt::format("{} of <gpu>: expected a whole number, found {}", key, number),
                   fmt::format("at most {}", kMaxRank));
      }
      return static_cast<int>(number);
    };
    out_.gpus.push_back({vertex, true, whole("rank"), whole("dev"), compile_target_of(gpu), whole("gdr") != 0});
  }

  void read_pci(const XmlElement& pci, int parent) {
    ++pci_count_;
    const std::string& bus = pci.attribute("busid");
    const std::string* const stated = pci.find("class");
    const std::string pci_class = stated != nullptr ? *stated : std::string();
    const bool holds_gpu =
        std::any_of(pci.children.begin(), pci.children.end(), [](const XmlElement& c) { return c.name == "gpu"; });
    const bool gpu = holds_gpu || (is_gpu_class(pci_class) && pci.children.empty());
    const std::string type = gpu ? "gpu" : pci_class.starts_with("0x0604") ? "pci switch" : "pci";
    const int vertex = add(fmt::format("{} {}", type, bus), type, gpu ? VertexKind::device : VertexKind::other, pci);
    if (!by_bus_.emplace(bus, vertex).second) {
      if (gpu) fail_input(pci.where, fmt::format("a second <pci> has the busid {}", excerpt(bus)), "give each its own");
      graph_.notes.push_back(fmt::format("{}: a second <pci> has the busid {}", pci.where.text(), excerpt(bus)));
    }
    const double rate = pcie_rate(pci);
    unstated_ += rate == kNotStated ? 1 : 0;
    join(parent, vertex, "pcie", rate);
    if (gpu && !holds_gpu) out_.gpus.push_back({vertex, false, -1, -1, {}, true});
    if (is_net_class(pci_class) && pci.children.empty()) out_.nets.push_back({vertex, bus, 0, true});
    read_children(pci, vertex);
  }

  void read_net(const XmlElement& net, int parent) {
    ++nets_;
    const double speed = net.find("speed") != nullptr ? net.number("speed", 0) : 0;
    const double latency = net.find("latency") != nullptr ? net.number("latency", 0) : 0;
    const std::string* const name = net.find("name");
    const int vertex =
        add(fmt::format("net {}", name != nullptr ? *name : net.attribute("dev")), "net", VertexKind::other, net);
    if (speed > kLikelyNet) {
      graph_.notes.push_back(fmt::format("{}: {} has a speed of {:.0f} Mb/s, which is {}: is the unit right?",
                                         net.where.text(), graph_.vertices.back().name, speed,
                                         format_rate(speed * 1e6 / 8)));
    }
    speeds_.insert(speed);
    const bool gdr = net.find("gdr") == nullptr || net.number("gdr", 0) != 0;
    out_.nets.push_back({vertex, graph_.vertices.back().name, speed * 1e6 / 8, gdr});
    join(parent, vertex, "net", speed > 0 ? speed * 1e6 / 8 : kNotStated, latency * 1e-6);
  }

  int target_of(const XmlElement& link, const std::string& target) {
    const auto found = by_bus_.find(target);
    if (found != by_bus_.end()) return found->second;
    const std::string* const tclass = link.find("tclass");
    if (tclass == nullptr || !tclass->starts_with("0x0680")) {
      fail_input(link.where, fmt::format("<{}> leads to {}, and no <pci> has this busid", link.name, excerpt(target)),
                 "correct target; only NVSwitches (tclass 0x068000) need no <pci>");
    }
    if (tclass->starts_with("0x068001")) return graph_.vertices.empty() ? 0 : cpus_.begin()->second;
    const int vertex = add("nvswitch " + target, "nvswitch", VertexKind::node_switch, link);
    by_bus_.emplace(target, vertex);
    return vertex;
  }

  void read_gpu_links(int gpu, const XmlElement& element) {
    for (const XmlElement& link : element.children) {
      const bool nvlink = link.name == "nvlink";
      if (link.name == "c2c") {
        read_c2c(gpu, link);
        continue;
      }
      if (!nvlink && link.name != "xgmi") {
        fail_input(link.where, fmt::format("<{}> is not known inside <gpu>", excerpt(link.name)),
                   "expected nvlink, xgmi or c2c");
      }
      const std::string& target = link.attribute("target");
      const double count = link.number("count", 1);
      ++gpu_links_;
      link_sum_ += count;
      link_tags_.insert(link.name);
      const int other = target_of(link, target);
      if (other == gpu) {
        ++loops_;
        continue;
      }
      // Skips the second statement of a link, by its other end.
      const auto pair = std::minmax(gpu, other);
      const double bandwidth = rate_of(element, nvlink) * count;
      const auto [found, fresh] = between_.emplace(pair, std::pair(gpu, graph_.links.size()));
      if (fresh) {
        join(gpu, other, nvlink ? "nvlink" : "xgmi", bandwidth, 0, count);
      } else if (found->second.first == gpu) {
        out_.links[found->second.second] += count;
        graph_.links[found->second.second].bandwidth += bandwidth;
      }
    }
  }

  void read_c2c(int gpu, const XmlElement& link) {
    const double bandwidth = link.number("bw", 0) * 1e6 * (link.find("count") != nullptr ? link.number("count", 1) : 1);
    // Joins the GPU to the processor at the top of its branch.
    int at = gpu;
    for (bool moved = true; moved;) {
      moved = false;
      for (const NetworkLink& other : graph_.links) {
        if (other.b != at || graph_.link_types[static_cast<std::size_t>(other.type)] != "pcie") continue;
        at = other.a;
        moved = true;
        break;
      }
    }
    join(gpu, at, "c2c", bandwidth > 0 ? bandwidth : kNotStated);
  }

  void join_processors() {
    for (std::size_t i = 0; i < host_of_.size(); ++i) {
      for (std::size_t j = i + 1; j < host_of_.size(); ++j) {
        if (host_of_[i].second != host_of_[j].second) continue;
        join(host_of_[i].first, host_of_[j].first, "between processors", kNotStated);
      }
    }
  }

  NetworkGraph finished(const XmlElement& root) {
    graph_.format = "NCCL topology";
    graph_.title = file_.substr(file_.rfind('/') + 1);
    std::vector<int> number(graph_.vertices.size());
    std::vector<NetworkVertex> ordered;
    for (const bool device : {true, false}) {
      for (std::size_t v = 0; v < graph_.vertices.size(); ++v) {
        if ((graph_.vertices[v].kind == VertexKind::device) != device) continue;
        number[v] = static_cast<int>(ordered.size());
        ordered.push_back(graph_.vertices[v]);
      }
      if (device) graph_.devices = static_cast<int>(ordered.size());
    }
    graph_.vertices = std::move(ordered);
    for (NcclGpu& gpu : out_.gpus) gpu.vertex = number[static_cast<std::size_t>(gpu.vertex)];
    for (NcclNet& net : out_.nets) net.vertex = number[static_cast<std::size_t>(net.vertex)];
    std::sort(out_.gpus.begin(), out_.gpus.end(),
              [](const NcclGpu& a, const NcclGpu& b) { return a.vertex < b.vertex; });
    std::set<std::string> hosts;
    for (const auto& [vertex, host] : host_of_) hosts.insert(host);
    out_.hosts = static_cast<int>(hosts.size());
    for (NetworkLink& link : graph_.links) {
      link.a = number[static_cast<std::size_t>(link.a)];
      link.b = number[static_cast<std::size_t>(link.b)];
    }
    if (loops_ > 0) {
      graph_.notes.push_back(fmt::format("{} links of GPUs lead to the GPU itself: they join nothing", loops_));
    }
    if (unstated_ > 0) {
      graph_.notes.push_back(
          fmt::format("{} PCIe links state no speed or width, and are taken not to bind", unstated_));
    }
    const std::string* const version = root.find("version");
    std::string speeds;
    for (const double speed : speeds_) speeds += fmt::format("{}{:.0f}", speeds.empty() ? "" : ";", speed);
    graph_.facts = {{"version", version != nullptr ? *version : ""},
                    {"cpus", std::to_string(cpus_.size())},
                    {"pci_nodes", std::to_string(pci_count_)},
                    {"gpus", std::to_string(gpus_.size())},
                    {"gpu_links", std::to_string(gpu_links_)},
                    {"gpu_link_count_sum", fmt::format("{:.0f}", link_sum_)},
                    {"gpu_link_tag", fmt::format("{}", fmt::join(link_tags_, ";"))},
                    {"nets", std::to_string(nets_)},
                    {"net_speed_mbps", speeds}};
    return std::move(graph_);
  }

  std::string file_;
  NcclTopology out_;
  NetworkGraph graph_;
  std::set<std::string> names_;
  std::map<std::string, int> cpus_;  // keys are host and numaid
  std::vector<std::pair<int, std::string>> host_of_;
  std::map<std::string, int> by_bus_;
  std::vector<std::pair<int, const XmlElement*>> gpus_;
  std::map<std::pair<int, int>, std::pair<int, std::size_t>> between_;  // first GPU that stated it, and the link
  std::set<double> speeds_;
  std::set<std::string> link_tags_;
  int pci_count_ = 0;
  int gpu_links_ = 0;
  int nets_ = 0;
  int loops_ = 0;
  int unstated_ = 0;
  double link_sum_ = 0;
};

}  // namespace

NcclTopology read_nccl_system(std::string_view text, const std::string& name) {
  return NcclReader(name).read(parse_xml(text, name));
}

NetworkGraph read_nccl_topology(std::string_view text, const std::string& name) {
  return read_nccl_system(text, name).graph;
}

}  // namespace mirfak
