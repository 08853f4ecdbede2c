#include "base/file_reference.hpp"
#include "cluster/profiles.hpp"

namespace mirfak {

namespace {

constexpr std::int64_t kMaxGpusOfNode = 4096;
// Limits beyond which something other than the speed of a processor is wrong.
constexpr double kMinHostFactor = 0.1;
constexpr double kMaxHostFactor = 10;
constexpr double kMaxSupplyTimeConstant = 60;  // s; batteries that last longer are no part of a node

}  // namespace

bool read_host_factor(ProfileFile& file, NodeSpec& node) {
  if (!file.root().has("host_factor")) return false;
  node.host_factor = file.figure("host_factor", kMinHostFactor, kMaxHostFactor);
  return true;
}

NodeProfile read_node_profile(ProfileFile& file) {
  file.require_all({"title", "gpu", "scale_up", "host_link", "network", "gpus", "ports", "host_memory_bytes",
                    "host_power_w", "wiring"});
  Mapping& root = file.root();
  NodeProfile profile{
      {}, root.require("gpu"), root.require("scale_up"), root.require("host_link"), root.require("network")};
  NodeSpec& node = profile.spec;
  node.name = file.name();
  node.title = file.title();
  node.instance = root.string_or("instance", "");
  node.scale_up = FileReference(profile.scale_up).independent();
  node.host_link = FileReference(profile.host_link).independent();
  node.network = FileReference(profile.network).independent();
  node.gpus = static_cast<int>(root.require("gpus").as_integer(1, kMaxGpusOfNode));
  node.ports = static_cast<int>(root.require("ports").as_integer(1, kMaxGpusOfNode));
  node.host_memory_bytes = file.figure("host_memory_bytes", 1e9, 1e14);
  if (root.has("host_memory_bandwidth")) {
    node.host_memory_bandwidth = file.figure("host_memory_bandwidth", 1e9, 1e14);
  }
  node.host_power_w = file.figure("host_power_w", 0, 1e5);
  if (root.has("supply_time_constant_s")) {
    node.supply_time_constant_s = file.figure("supply_time_constant_s", 0, kMaxSupplyTimeConstant);
  }
  read_host_factor(file, node);

  const Node wiring = root.require("wiring");
  node.wiring = static_cast<Wiring>(wiring.as_choice(wiring_names()));
  if (node.wiring == Wiring::cube_mesh && node.gpus != 8) wiring.fail("a cube mesh joins 8 GPUs");

  node.scale_up_domain = node.gpus;
  if (const std::optional<Node> domain = root.find("scale_up_domain")) {
    node.scale_up_domain = static_cast<int>(domain->as_integer(node.gpus, kMaxGpusOfNode));
    if (node.scale_up_domain % node.gpus != 0) domain->fail("expected a multiple of `gpus`: whole nodes");
    if (node.scale_up_domain > node.gpus && node.wiring != Wiring::switched) {
      domain->fail("only switched nodes form domains of several nodes");
    }
  }
  file.finish();
  return profile;
}

}  // namespace mirfak
