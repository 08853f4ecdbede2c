#include "cost/collective_model.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace mirfak;

namespace {

Figure figure(double value) { return {value, "test"}; }

// 4 GPUs per node; 100 GB/s between them, 2 ports of 10 GB/s: 5 GB/s of network for each. All efficiencies 1.
NodeHardware hardware() {
  NodeHardware node;
  node.spec.name = "node";
  node.spec.gpu = "gpu";
  node.spec.gpus = 4;
  node.spec.scale_up_domain = 4;
  node.spec.ports = 2;
  node.gpu.name = "gpu";
  for (LinkSpec* link : {&node.scale_up, &node.host_link, &node.network}) {
    link->efficiency = link->send_efficiency = figure(1);
    link->base_latency_s = figure(10e-6);
    link->latency_s = figure(1e-6);
    link->send_latency_s = figure(5e-6);
  }
  node.scale_up.name = "scale-up";
  node.scale_up.bandwidth = figure(100e9);
  node.network.name = "network";
  node.network.bandwidth = figure(10e9);
  node.network.latency_s = figure(4e-6);
  return node;
}

Cluster cluster(int nodes, double oversubscription = 1) {
  Fabric fabric = default_fabric();
  fabric.oversubscription = oversubscription;
  fabric.leaf_ports = 2;
  return Cluster({{hardware(), nodes, std::nullopt}}, fabric);
}

CommunicationCost price(const Cluster& c, CollectiveKind kind, double bytes, const std::vector<int>& devices) {
  const CollectiveModel model(c.groups()[0].hardware, c.fabric());
  return model.price(kind, bytes, communication_group(c, devices));
}

std::vector<int> range(int count, int stride = 1) {
  std::vector<int> out;
  for (int i = 0; i < count; ++i) out.push_back(i * stride);
  return out;
}

}  // namespace

TEST_CASE("ring all-reduce in a node: base + 2 (n-1) steps + 2 (n-1)/n S / B") {
  const CommunicationCost cost = price(cluster(1), CollectiveKind::all_reduce, 1e9, range(4));
  // 10 us + 6 x 1 us + 1.5 x 1e9 / 100e9
  CHECK(cost.seconds == doctest::Approx(16e-6 + 15e-3).epsilon(1e-12));
  CHECK(cost.bytes_sent == doctest::Approx(1.5e9));
  CHECK_FALSE(cost.on_network);
}

TEST_CASE("all-gather and reduce-scatter move half of it") {
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    CHECK(price(cluster(1), kind, 1e9, range(4)).seconds == doctest::Approx(13e-6 + 7.5e-3).epsilon(1e-12));
  }
}

TEST_CASE("one rank per node: the network share of one GPU bounds a ring over nodes") {
  const CommunicationCost cost = price(cluster(4), CollectiveKind::reduce_scatter, 1e9, range(4, 4));
  // 10 us + 3 steps x 4 us + 0.75 x 1e9 / 5e9
  CHECK(cost.seconds == doctest::Approx(22e-6 + 0.15).epsilon(1e-12));
  CHECK(cost.on_network);
}

TEST_CASE("all ranks of the nodes: their ports together") {
  // 8 ranks on 2 nodes: B = min(100, 4 x 5) = 20 GB/s, latency 10 + (8 - 2) x 1 + 1 x 4 us.
  const CommunicationCost cost = price(cluster(2), CollectiveKind::all_gather, 1e9, range(8));
  CHECK(cost.seconds == doctest::Approx(20e-6 + 0.875 / 20).epsilon(1e-12));
}

TEST_CASE("many nodes and few bytes: a tree has fewer steps than a ring") {
  const CommunicationCost small = price(cluster(64), CollectiveKind::all_reduce, 1024, range(64, 4));
  CHECK(small.algorithm == "tree");
  CHECK(price(cluster(64), CollectiveKind::all_reduce, 1e9, range(64, 4)).algorithm == "ring");
}

TEST_CASE("oversubscription slows what crosses leaves, and only that") {
  // Leaves of two nodes each: ranks on nodes 0 and 1 stay below one leaf, ranks on nodes 1 and 2 do not.
  const auto seconds = [](double oversubscription, const std::vector<int>& devices) {
    return price(cluster(4, oversubscription), CollectiveKind::all_gather, 1e9, devices).transfer_s;
  };
  CHECK(seconds(3, {0, 4}) == seconds(1, {0, 4}));
  CHECK(seconds(3, {4, 8}) == doctest::Approx(3 * seconds(1, {4, 8})));
}

TEST_CASE("sends: in the node over the scale-up link, across over a share of the ports") {
  const NodeHardware node = hardware();
  const Fabric fabric = default_fabric();
  const CollectiveModel model(node, fabric);
  CHECK(model.price_send(1e9, true, false).seconds == doctest::Approx(5e-6 + 1e-2).epsilon(1e-12));
  CHECK(model.price_send(1e9, false, false).seconds == doctest::Approx(5e-6 + 0.2).epsilon(1e-12));
}

TEST_CASE("a group of one costs nothing; more bytes or a slower link never cost less") {
  CHECK(price(cluster(1), CollectiveKind::all_reduce, 1e9, {0}).seconds == 0);
  double before = 0;
  for (double bytes = 1; bytes < 1e10; bytes *= 3) {
    const double now = price(cluster(2), CollectiveKind::all_reduce, bytes, range(8)).seconds;
    CHECK(now >= before);
    before = now;
  }
}

TEST_CASE("an explanation gives every constant with its source") {
  const Cluster c = cluster(2);
  const CollectiveModel model(c.groups()[0].hardware, c.fabric());
  const auto devices = range(8);
  const Explanation why = model.explain(CollectiveKind::all_reduce, 1e6, communication_group(c, devices));
  CHECK(why.inputs.size() == 7);
  for (const Explanation::Input& input : why.inputs) CHECK(input.source == "test");
  CHECK(why.formula.find("all-reduce") != std::string::npos);
}
