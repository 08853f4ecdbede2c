// Nodes that hold several kinds of GPU: what is a GPU's belongs to its kind, and what is the node's counts once.
#include "cluster/cluster.hpp"
#include "fixtures.hpp"
#include "tests/base/failure.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <vector>

namespace mixed_nodes_test {

using namespace mirfak;

namespace {

const std::string kParts = "parts: [{gpu: rtx-4090, gpus: 5}, {gpu: rtx-3090, gpus: 3}]";

Cluster read(const std::string& section, const Catalog& from = catalog()) {
  const Document document = Document::from_text(section, "job.yaml");
  return read_cluster(Node(document), from);
}

Cluster nodes(const std::string& keys, int count, const std::string& more = "") {
  return read(fmt::format("nodes: [{{type: {{like: rtx-4090-pcie-8, {}}}, count: {}{}}}]", keys, count, more));
}

std::string failure(const std::string& keys, const std::string& more = "") {
  return failure_of([&] { nodes(keys, 2, more); });
}

}  // namespace

TEST_CASE("devices of a node of several kinds are those of its parts in their order, all on one node") {
  const Cluster cluster = nodes(kParts, 3);
  CHECK(cluster.mixes_gpus());
  CHECK(cluster.gpus() == 24);
  CHECK(cluster.physical_gpus() == 24);
  CHECK(cluster.nodes() == 3);
  CHECK(cluster.domains() == 3);
  CHECK(cluster.groups().size() == 6);
  for (int device = 0; device < cluster.gpus(); ++device) {
    const DevicePlace place = cluster.place_of(device);
    CHECK(cluster.gpu_of(device).name == (device % 8 < 5 ? "rtx-4090" : "rtx-3090"));
    CHECK(place.node == device / 8);
    CHECK(place.domain == device / 8);
    CHECK(place.local == device % 8);
    CHECK(place.gpu == device);
    CHECK(cluster.group_of(device).first_node == device / 8);
  }
  const GroupShape within = shape_of(cluster, std::vector<int>{3, 4, 5, 6});
  CHECK(within.nodes == 1);
  CHECK(within.domains == 1);
  CHECK(within.ranks_per_domain == 4);
  CHECK(within.node_groups == 2);
}

TEST_CASE("ranks that share GPUs of several kinds have a device each") {
  const Cluster cluster = nodes(kParts, 2, ", ranks_per_gpu: 2");
  CHECK(cluster.gpus() == 32);
  CHECK(cluster.physical_gpus() == 16);
  for (int device = 0; device < cluster.gpus(); ++device) {
    CHECK(cluster.place_of(device).gpu == device / 2);
    CHECK(cluster.gpu_of(device).name == (device % 16 < 10 ? "rtx-4090" : "rtx-3090"));
  }
}

TEST_CASE("what a node has counts once, and the GPUs with their kind") {
  const Cluster mixed = nodes(kParts, 3);
  const Cluster plain = nodes("host_power_w: 1000", 3);
  CHECK(mixed.host_power_w() == plain.host_power_w());
  CHECK(mixed.idle_host_power_w() == plain.idle_host_power_w());
  const std::vector<NodeGroup> kinds = mixed.kinds();
  CHECK(kinds.size() == 2);
  CHECK(kinds[0].nodes() == 3);
  CHECK(kinds[1].nodes() == 0);
  CHECK(kinds[0].gpus() == 15);
  CHECK(kinds[1].gpus() == 9);
  for (const NodeGroup& kind : kinds) {
    CHECK(kind.hardware.spec.ports == plain.groups()[0].hardware.spec.ports);
    CHECK(kind.hardware.spec.gpus == 8);
  }
  const Cluster priced =
      read("nodes: [{type: {like: hgx-h100, parts: [{gpu: h100, gpus: 6}, {gpu: a100-80g, gpus: 2}]}, count: 1}]");
  for (const NodeGroup& group : priced.groups()) CHECK(group.price.value().gpu == group.hardware.gpu.name);
  CHECK(kinds[1].hardware.name() == "rtx-3090 of rtx-4090-pcie-8-like");
}

TEST_CASE("parts of one kind are a node of that kind; other equal nodes are listed together") {
  const Cluster halves = nodes("parts: [{gpu: rtx-4090, gpus: 4}, {gpu: rtx-4090, gpus: 4}]", 2);
  NodeHardware plain = nodes("gpus: 8", 2).groups()[0].hardware;
  plain.spec.asked = halves.groups()[0].hardware.spec.asked;
  CHECK_FALSE(halves.mixes_gpus());
  CHECK(halves.groups().size() == 1);
  CHECK(halves.groups()[0].hardware == plain);

  const Cluster three =
      nodes("parts: [{gpu: rtx-4090, gpus: 2}, {gpu: rtx-3090, gpus: 4}, {gpu: rtx-4090, gpus: 2}]", 4);
  CHECK(three.kinds().size() == 3);
  const auto of = [](const std::string& keys) { return "{type: {like: rtx-4090-pcie-8, " + keys + "}, count: 2}"; };
  const Cluster two = read("nodes: [" + of(kParts) + ", " + of("gpus: 8") + ", " + of(kParts) + "]");
  CHECK(two.kinds().size() == 5);
  CHECK(two.nodes() == 6);
  CHECK(two.place_of(two.gpus() - 1).node == 5);
}

TEST_CASE("a part has links of its own where it says so; of a type that is like another, parts or GPUs stand") {
  const ScratchCatalog scratch;
  scratch.write(
      "nodes/two-kinds.yaml",
      "like: a100-pcie-8\nparts: [{gpu: h100-pcie, gpus: 2, host_link: pcie5-x16}, {gpu: a100-pcie-80g, gpus: 6}]\n");
  scratch.write("nodes/again.yaml", "like: a100-pcie-8\ngpus: 4\n");
  const std::vector<NodeHardware> kinds = scratch.catalog().node_kinds("two-kinds");
  CHECK(kinds.size() == 2);
  CHECK(kinds[0].host_link.name == "pcie5-x16");
  CHECK(kinds[1].host_link.name == scratch.catalog().node("a100-pcie-8").host_link.name);
  CHECK(scratch.catalog().node("again").spec.gpus == 4);
  CHECK(contains(failure_of([&] { scratch.catalog().node("two-kinds"); }), "several kinds of GPU"));
}

TEST_CASE("limits and clocks are one value for all kinds or one for each, and a cap limits all alike") {
  const Cluster each = nodes(kParts, 2, ", clock_mhz: [2000, 1500], gpu_power_limit_w: [400, 300], price: [0.5, 0.3]");
  CHECK(each.groups()[0].hardware.spec.clock_hz == 2000e6);
  CHECK(each.groups()[3].hardware.spec.clock_hz == 1500e6);
  CHECK(each.groups()[2].hardware.gpu.limit_w() == 400);
  CHECK(each.groups()[1].hardware.gpu.limit_w() == 300);
  CHECK(each.groups()[1].price->usd_per_gpu_hour.value == 0.3);
  CHECK(nodes(kParts, 1, ", clock_mhz: 1500").groups()[1].hardware.spec.clock_hz == 1500e6);

  const Cluster free = nodes(kParts, 2);
  double all_w = 0;
  for (const NodeGroup& group : free.groups()) all_w += group.gpus() * group.hardware.gpu.limit_w();
  const Cluster capped = read(
      fmt::format("nodes: [{{type: {{like: rtx-4090-pcie-8, {}}}, count: 2}}]\npower_cap_w: {}", kParts, 0.8 * all_w));
  for (const NodeGroup& group : capped.groups()) {
    CHECK(group.hardware.gpu.limit_w() == doctest::Approx(0.8 * group.hardware.gpu.tdp_w.value));
  }
}

TEST_CASE("parts are read strictly, and what is not clear with them is refused") {
  CHECK(contains(failure(kParts + ", gpus: 8"), "type.gpus: parts say which GPUs the node has"));
  CHECK(contains(failure(kParts + ", gpu: rtx-4090"), "leave gpu or parts out"));
  CHECK(contains(failure("parts: []"), "expected 1 to 64 parts"));
  CHECK(contains(failure("parts: {gpu: rtx-4090}"), "type.parts: expected"));
  CHECK(contains(failure("parts: [{gpu: rtx-4090}]"), "type.parts[0]: the key 'gpus' is missing"));
  CHECK(contains(failure("parts: [{gpu: rtx-4091, gpus: 1}]"), "type.parts[0].gpu: unknown GPU 'rtx-4091'"));
  CHECK(contains(failure("parts: [{gpu: rtx-4090, gpus: 1, ports: 2}]"), "type.parts[0].ports: unknown key"));
  CHECK(
      contains(failure("parts: [{gpu: rtx-4090, gpus: 1, scale_up: nvlink}]"), "type.parts[0].scale_up: unknown link"));
  CHECK(contains(failure("parts: [{gpu: rtx-4090, gpus: 4096}, {gpu: rtx-3090, gpus: 1}]"), "4097 GPUs in all"));
  CHECK(contains(failure(kParts + ", scale_up_domain: 16, wiring: switched"), "form no domain together"));
  CHECK(contains(failure(kParts + ", wiring: cube-mesh"), "a cube mesh joins 8 GPUs of one kind"));
  CHECK(contains(failure("parts: [{gpu: {like: h100, tdp_w: 600}, gpus: 1}, {gpu: {like: h100}, gpus: 1}]"),
                 "type.parts[1].gpu: two different GPUs of the node have the name h100-like"));
  CHECK(contains(failure(kParts, ", gpus: 4"), "it is not clear which of them are meant"));
  CHECK(contains(failure(kParts, ", topology: node.xml"), "topology files describe nodes whose GPUs are of one kind"));
  CHECK(contains(failure(kParts, ", clock_mhz: [1500]"), "1 values, and the node holds 2 kinds of GPU"));
}

}  // namespace mixed_nodes_test
