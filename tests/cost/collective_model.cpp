#include "cost/collective_model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace collective_model_test {

using namespace mirfak;

namespace {

Figure figure(double value) { return {value, "test"}; }

// 4 Hoppers per node; 100 GB/s between them, 2 ports of 10 GB/s: 5 GB/s of network for each. Simple and the ports reach
// their line rates.
NodeHardware hardware() {
  NodeHardware node;
  node.spec.name = "node";
  node.spec.gpu = "gpu";
  node.spec.gpus = 4;
  node.spec.scale_up_domain = 4;
  node.spec.ports = 2;
  node.gpu.name = "gpu";
  node.gpu.architecture = "hopper";
  for (LinkSpec* link : {&node.scale_up, &node.host_link, &node.network}) {
    link->efficiency = link->send_efficiency = figure(1);
    link->base_latency_s = figure(6e-6);
    link->latency_s = figure(1e-6);
    link->send_latency_s = figure(5e-6);
  }
  node.scale_up.name = "scale-up";
  node.scale_up.bandwidth = figure(100e9);
  node.scale_up.protocols = RingProtocols{figure(0.4),  figure(10e-6), figure(2e-6), figure(0.9), figure(12e-6),
                                          figure(4e-6), figure(1),     figure(0.5),  {}};
  node.scale_up.exchange = ExchangeFit{figure(10e-6), figure(1e-6), figure(0.8),  figure(0.5), figure(0),
                                       figure(1),     figure(5e-6), figure(1e-6), figure(0.1), {}};
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

TEST_CASE("ring in a node: base + steps x step + (steps + extra) n-ths of the buffer") {
  const CommunicationCost cost = price(cluster(1), CollectiveKind::all_reduce, 1e9, range(4));
  REQUIRE(cost.algorithm == "ring");
  REQUIRE(cost.protocol == "Simple");
  // 12 us + 6 x 4 us + 6.5 x 0.25e9 / 100e9
  CHECK(cost.seconds == doctest::Approx(36e-6 + 16.25e-3).epsilon(1e-12));
  CHECK(cost.bytes_sent == doctest::Approx(1.5e9));
  CHECK_FALSE(cost.on_network);
  CHECK(cost.network_bytes_per_s == 0);
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    // 12 us + 3 x 4 us + 3.5 x 0.25e9 / 100e9
    CHECK(price(cluster(1), kind, 1e9, range(4)).seconds == doctest::Approx(24e-6 + 8.75e-3).epsilon(1e-12));
  }
}

TEST_CASE("few bytes go in LL: short latency, a fraction of the bandwidth") {
  const CommunicationCost cost = price(cluster(1), CollectiveKind::all_gather, 4000, range(4));
  REQUIRE(cost.protocol == "LL");
  // 6 us + 3 x 1 us + 3.5 x 1000 / 40e9
  CHECK(cost.seconds == doctest::Approx(9e-6 + 87.5e-9).epsilon(1e-9));
}

TEST_CASE("steps may hide behind transfers") {
  NodeHardware node = hardware();
  node.scale_up.protocols->simple_overlap = figure(2);
  const Cluster c({{node, 1, std::nullopt}}, default_fabric());
  // 12 us + sqrt((3 x 4 us)^2 + (3.5 x 0.25 x 1e8 / 100e9)^2)
  CHECK(price(c, CollectiveKind::all_gather, 1e8, range(4)).seconds ==
        doctest::Approx(12e-6 + std::hypot(12e-6, 875e-6)).epsilon(1e-12));
}

TEST_CASE("one rank per node: the network share of one GPU bounds a ring over nodes") {
  const CommunicationCost cost = price(cluster(2), CollectiveKind::reduce_scatter, 1e9, range(2, 4));
  // 12 us + a hop of 4 + 9 us + 1.5 x 0.5e9 / 5e9
  CHECK(cost.seconds == doctest::Approx(25e-6 + 0.15).epsilon(1e-12));
  CHECK(cost.on_network);
  // It sends and receives half the buffer over its port.
  CHECK(cost.network_bytes_per_s * cost.seconds == doctest::Approx(0.5e9));
}

TEST_CASE("all ranks of the nodes: their ports together") {
  // 8 ranks on 2 nodes: B = min(100, 4 x 5) = 20 GB/s, 12 us + 6 steps of 4 us + a hop of 13 us.
  const CommunicationCost cost = price(cluster(2), CollectiveKind::all_gather, 1e9, range(8));
  CHECK(cost.seconds == doctest::Approx(49e-6 + 7.5 / 8 / 20).epsilon(1e-12));
  // 7/8 of the buffer leaves each node, over the ports of its four ranks.
  CHECK(cost.network_bytes_per_s * cost.seconds == doctest::Approx(1e9 * 7 / 8 / 4));
}

TEST_CASE("uneven groups have the ports of their smallest domain") {
  const double uneven = price(cluster(2), CollectiveKind::all_gather, 1e9, {0, 1, 2, 4}).transfer_s;
  CHECK(uneven == doctest::Approx(3.5 / 4 / 5));
}

TEST_CASE("many nodes and few bytes: a tree has fewer steps than a ring") {
  const CommunicationCost small = price(cluster(64), CollectiveKind::all_reduce, 1024, range(64, 4));
  CHECK(small.algorithm == "tree");
  // 6 us + 2 x 6 hops of 4 us + 2 x 1024 / (5e9 / 2)
  CHECK(small.seconds == doctest::Approx(54e-6 + 2048 / 2.5e9).epsilon(1e-9));
  CHECK(price(cluster(64), CollectiveKind::all_reduce, 1e9, range(64, 4)).algorithm == "ring");
}

TEST_CASE("in-switch reduction sends each byte once") {
  NodeHardware node = hardware();
  node.spec.gpus = node.spec.scale_up_domain = 8;
  node.scale_up.in_switch_reduction =
      InSwitchReduction{5, figure(20e-6), figure(0.6), {}, figure(30e-6), figure(1e6), figure(0.9), figure(0.7), {}};
  const Cluster c({{node, 1, std::nullopt}}, default_fabric());
  const CommunicationCost eight = price(c, CollectiveKind::all_reduce, 1e9, range(8));
  REQUIRE(eight.algorithm == "in-switch");
  // 20 us + 1e9 x 9/8 / 60e9 + 30 us x 1e9 / (1e9 + 1e6)
  CHECK(eight.seconds == doctest::Approx(20e-6 + 18.75e-3 + 30e-6 / 1.001).epsilon(1e-12));
  CHECK(price(c, CollectiveKind::all_reduce, 1e9, range(4)).algorithm == "ring");
  CHECK(price(c, CollectiveKind::all_gather, 1e9, range(8)).algorithm == "ring");
}

TEST_CASE("with few channels, a rank sends no faster than they do") {
  const Cluster nodes = cluster(2);
  CollectiveModel model(nodes.groups().front().hardware, nodes.fabric());
  const std::vector<int> ranks = {0, 1, 2, 3};
  const CommunicationGroup group = communication_group(nodes, ranks);
  constexpr double kBytes = 64e6;
  const CommunicationCost free = model.price(CollectiveKind::all_reduce, kBytes, group);
  REQUIRE(free.multiprocessors > 1);
  double last = std::numeric_limits<double>::infinity();
  for (int channels = 1; channels <= free.multiprocessors; ++channels) {
    model.set_max_channels(channels);
    const CommunicationCost limited = model.price(CollectiveKind::all_reduce, kBytes, group);
    CHECK(limited.multiprocessors == channels);
    CHECK(limited.bytes_sent == free.bytes_sent);
    CHECK(limited.seconds <= last);
    CHECK(limited.seconds >= free.seconds);
    last = limited.seconds;
  }
  CHECK(last == free.seconds);
  // One channel of a Hopper carries 36.7 GB/s, and each of four ranks sends 1.5 times the buffer.
  model.set_max_channels(1);
  CHECK(model.price(CollectiveKind::all_reduce, kBytes, group).transfer_s == doctest::Approx(1.5 * 64e6 / 36.7e9));
  model.set_max_channels(free.multiprocessors + 1);
  CHECK(model.price(CollectiveKind::all_reduce, kBytes, group).seconds == free.seconds);
}

TEST_CASE("all-to-all: the link carries a rank's share to its domain, its port the rest") {
  // 10 us + 3 x 1 us + 3.5 x 0.25e9 / 80e9
  CHECK(price(cluster(1), CollectiveKind::all_to_all, 1e9, range(4)).seconds ==
        doctest::Approx(13e-6 + 0.25 * 3.5 / 80).epsilon(1e-12));
  // 8 ranks on 2 nodes: half of the pieces leave over 5 GB/s; 10 us + 7 us and a send's 5 us.
  const CommunicationCost two = price(cluster(2), CollectiveKind::all_to_all, 1e9, range(8));
  CHECK(two.seconds == doctest::Approx(22e-6 + 0.5 / 5).epsilon(1e-12));
  CHECK(two.network_bytes_per_s * two.seconds == doctest::Approx(0.5e9));
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
  CHECK(model.price_send(1e9, true).seconds == doctest::Approx(5e-6 + 1e-2).epsilon(1e-12));
  CHECK(model.price_send(1e9, false).seconds == doctest::Approx(5e-6 + 0.2).epsilon(1e-12));
}

TEST_CASE("more bytes never cost less in one algorithm and protocol, and nothing beats the line rate") {
  CHECK(price(cluster(1), CollectiveKind::all_reduce, 1e9, {0}).seconds == 0);
  for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                    CollectiveKind::reduce_scatter, CollectiveKind::all_to_all}) {
    for (const std::vector<int>& devices : {range(4), range(2, 4), range(8), range(64), range(64, 4)}) {
      CommunicationCost before;
      for (double bytes = 1; bytes < 1e10; bytes *= 1.5) {
        const CommunicationCost now = price(cluster(64), kind, bytes, devices);
        const bool same = now.algorithm == before.algorithm && now.protocol == before.protocol;
        if (same) CHECK(now.seconds >= before.seconds);
        CHECK(now.seconds > 0);
        CHECK(now.network_bytes_per_s <= 5e9);
        if (!now.on_network) CHECK(now.bytes_sent / now.seconds <= 100e9);
        before = now;
      }
    }
  }
}

TEST_CASE("an explanation gives every constant with its source") {
  const Cluster c = cluster(2);
  const CollectiveModel model(c.groups()[0].hardware, c.fabric());
  const auto devices = range(8);
  for (const double bytes : {1e3, 1e6, 1e9}) {
    const Explanation why = model.explain(CollectiveKind::all_reduce, bytes, communication_group(c, devices));
    CHECK(why.inputs.size() == 7);
    for (const Explanation::Input& input : why.inputs) CHECK(input.source == "test");
    CHECK(why.formula.find("all-reduce") != std::string::npos);
  }
}

}  // namespace collective_model_test
