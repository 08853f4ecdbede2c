#include "base/file_reference.hpp"
#include "cluster/disk_rates.hpp"
#include "cluster/profiles.hpp"

#include <fmt/format.h>

namespace mirfak {

namespace {

constexpr std::int64_t kMaxGpusOfNode = 4096;
constexpr std::size_t kMaxParts = 64;
// Limits beyond which something other than the speed of a processor is wrong.
constexpr double kMinHostFactor = 0.1;
constexpr double kMaxHostFactor = 10;
constexpr double kMaxSupplyTimeConstant = 60;  // s; batteries that last longer are no part of a node

// Reads what the host draws, and its parts.
void read_host_power(ProfileFile& file, NodeSpec& node) {
  constexpr double kMaxHostPower = 1e5;
  node.host_power_w = file.figure("host_power_w", 0, kMaxHostPower);
  const auto read = [&](const char* key, std::optional<Figure>& figure) {
    if (file.root().has(key)) figure = file.figure(key, 0, kMaxHostPower);
  };
  read("host_idle_power_w", node.host_idle_power_w);
  read("fan_power_w", node.fan_power_w);
  read("supply_loss_w", node.supply_loss_w);
  const double host_w = node.host_power_w.value;
  if (node.idle_host_w() > host_w) {
    file.root()
        .require("host_idle_power_w")
        .fail(
            fmt::format("a host without work draws {:g} W, more than its {:g} W with work", node.idle_host_w(), host_w),
            "write what it draws while its GPUs have no work, at most host_power_w");
  }
  const double fans_w = node.fan_power_w ? node.fan_power_w->value : 0;
  const double lost_w = node.supply_loss_w ? node.supply_loss_w->value : 0;
  if (fans_w + lost_w <= host_w) return;
  file.root()
      .require(node.fan_power_w ? "fan_power_w" : "supply_loss_w")
      .fail(fmt::format("fans and losses of power supplies of {:g} W are more than the {:g} W of the whole host",
                        fans_w + lost_w, host_w),
            "write parts of host_power_w");
}

// Reads `parts`, which stand in the place of `gpu` and `gpus`: kinds of GPU, each with links of its own if it says so.
std::vector<NodeKind> read_node_parts(ProfileFile& file, const Node& parts) {
  Mapping& root = file.root();
  for (const char* key : {"gpu", "gpus"}) {
    if (const auto other = root.find(key)) {
      other->fail("parts say which GPUs the node has, and how many", fmt::format("leave {} or parts out", key));
    }
  }
  const Node scale_up = root.require("scale_up");
  const Node host_link = root.require("host_link");
  std::vector<NodeKind> out;
  for (const Node& item : parts.as_items()) {
    Mapping part(item);
    const Node gpu = part.require("gpu");
    const int gpus = static_cast<int>(part.require("gpus").as_integer(1, kMaxGpusOfNode));
    out.push_back({gpu, gpus, part.find("scale_up").value_or(scale_up), part.find("host_link").value_or(host_link)});
    part.finish();
  }
  if (out.empty() || out.size() > kMaxParts) {
    parts.fail(fmt::format("expected 1 to {} parts {{gpu: ..., gpus: ...}}, found {}", kMaxParts, out.size()));
  }
  std::int64_t gpus = 0;
  for (const NodeKind& kind : out) gpus += kind.gpus;
  if (gpus > kMaxGpusOfNode) parts.fail(fmt::format("{} GPUs in all, and a node has {} at most", gpus, kMaxGpusOfNode));
  return out;
}

// Reads the kinds of GPU of a node.
std::vector<NodeKind> read_node_kinds(ProfileFile& file) {
  Mapping& root = file.root();
  if (const auto parts = root.find("parts")) return read_node_parts(file, *parts);
  return {{root.require("gpu"), static_cast<int>(root.require("gpus").as_integer(1, kMaxGpusOfNode)),
           root.require("scale_up"), root.require("host_link")}};
}

}  // namespace

bool read_host_factor(ProfileFile& file, NodeSpec& node) {
  if (!file.root().has("host_factor")) return false;
  node.host_factor = file.figure("host_factor", kMinHostFactor, kMaxHostFactor);
  return true;
}

NodeProfile read_node_profile(ProfileFile& file) {
  file.require_all({"title", "gpu|parts", "scale_up", "host_link", "network", "gpus|parts", "ports",
                    "host_memory_bytes", "host_power_w", "wiring"});
  Mapping& root = file.root();
  NodeProfile profile{{}, read_node_kinds(file), root.require("network")};
  NodeSpec& node = profile.spec;
  node.name = file.name();
  node.title = file.title();
  node.instance = root.string_or("instance", "");
  node.network = FileReference(profile.network).independent();
  for (const NodeKind& kind : profile.kinds) node.gpus += kind.gpus;
  node.ports = static_cast<int>(root.require("ports").as_integer(1, kMaxGpusOfNode));
  node.host_memory_bytes = file.figure("host_memory_bytes", 1e9, 1e14);
  if (root.has("host_memory_bandwidth")) {
    node.host_memory_bandwidth = file.figure("host_memory_bandwidth", 1e9, 1e14);
  }
  for (const DiskRate& rate : kDiskRates) {
    if (root.has(rate.key)) node.*rate.figure = file.figure(rate.key, kLeastDiskRate, kLargestDiskRate);
  }
  read_host_power(file, node);
  if (root.has("supply_time_constant_s")) {
    node.supply_time_constant_s = file.figure("supply_time_constant_s", 0, kMaxSupplyTimeConstant);
  }
  read_host_factor(file, node);

  const Node wiring = root.require("wiring");
  node.wiring = static_cast<Wiring>(wiring.as_choice(wiring_names()));
  const bool joins_8 = node.gpus == 8 && profile.kinds.size() == 1;
  if (node.wiring == Wiring::cube_mesh && !joins_8) wiring.fail("a cube mesh joins 8 GPUs of one kind");

  node.scale_up_domain = node.gpus;
  if (const std::optional<Node> domain = root.find("scale_up_domain")) {
    node.scale_up_domain = static_cast<int>(domain->as_integer(node.gpus, kMaxGpusOfNode));
    if (node.scale_up_domain % node.gpus != 0) domain->fail("expected a multiple of `gpus`: whole nodes");
    if (node.scale_up_domain > node.gpus && profile.kinds.size() > 1) {
      domain->fail("nodes of several kinds of GPU form no domain together", "leave scale_up_domain out");
    }
    if (node.scale_up_domain > node.gpus && node.wiring != Wiring::switched) {
      domain->fail("only switched nodes form domains of several nodes");
    }
  }
  file.finish();
  return profile;
}

}  // namespace mirfak
