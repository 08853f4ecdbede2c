// Laws of iterations on nodes that hold two kinds of GPU.

#include "cluster/catalog.hpp"
#include "engine/execute.hpp"
#include "job_fixture.hpp"
#include "network/topology.hpp"
#include "simulation/cluster_draw.hpp"
#include "support/frameworks.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <utility>
#include <vector>

namespace mixed_nodes_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

// `count` nodes of 8 GPUs, half of them of each kind, in the host of the first kind.
Cluster halves(const NodeHardware& first, const GpuSpec& second, int count) {
  const PriceSpec price = *cluster_of("dgx-a100-80g", 1).groups()[0].price;
  NodeAllotment one{first, 1, price};
  one.hardware.spec.part = {0, 4};
  NodeAllotment other = one;
  other.hardware.gpu = second;
  other.hardware.spec.gpu = second.name;
  other.hardware.spec.part = {4, 4};
  other.hardware.spec.entry = 1;
  std::vector<NodeAllotment> nodes;
  for (int i = 0; i < count; ++i) nodes.insert(nodes.end(), {one, other});
  return {std::move(nodes), default_fabric()};
}

Cluster whole(NodeHardware node, const GpuSpec& gpu, int count) {
  node.gpu = gpu;
  return {{{std::move(node), count, *cluster_of("dgx-a100-80g", 1).groups()[0].price}}, default_fabric()};
}

const NodeHardware& host() {
  static const NodeHardware node = Catalog(source_root() + "/hw_profiles").node("hgx-h100");
  return node;
}

const GpuSpec& slow_gpu() {
  static const GpuSpec gpu = Catalog(source_root() + "/hw_profiles").gpu("a100-80g");
  return gpu;
}

Job job_of(int tensor, int pipeline, int data, int zero, Cluster cluster) {
  Strategy s;
  s.tensor = tensor;
  s.pipeline = pipeline;
  s.data = data;
  s.zero = zero;
  Job job = small_job(8, 1, s, 64);
  job.training.framework = zero > 1 ? "pytorch-fsdp" : "megatron-core";
  job.framework = test::framework_named(job.training.framework);
  job.cluster = std::move(cluster);
  return job;
}

// Sizes of groups on `nodes` nodes of 8 GPUs, of which no team lies on two halves of a node.
struct Sizes {
  int tensor;
  int pipeline;
  int zero;
};
const std::vector<Sizes> kSizes = {{1, 1, 0}, {1, 1, 1}, {1, 1, 3}, {4, 1, 1}, {2, 2, 0}, {4, 2, 0}, {1, 8, 0}};

Job job_of(const Sizes& of, Cluster cluster) {
  const int data = cluster.gpus() / of.tensor / of.pipeline;
  return job_of(of.tensor, of.pipeline, data, of.zero, std::move(cluster));
}

}  // namespace

TEST_CASE("a node of two kinds that differ in their names alone: the iteration of the plain node to the bit") {
  GpuSpec twin = host().gpu;
  twin.name = "twin";
  for (const int nodes : {1, 2}) {
    for (const Sizes& of : kSizes) {
      INFO("nodes " << nodes << " t " << of.tensor << " p " << of.pipeline << " zero " << of.zero);
      const IterationResult plain = simulate(job_of(of, whole(host(), host().gpu, nodes))).result;
      const IterationResult mixed = simulate(job_of(of, halves(host(), twin, nodes))).result;
      CHECK(mixed.iteration_time_s == plain.iteration_time_s);
      CHECK(mixed.memory_peak_bytes == plain.memory_peak_bytes);
      CHECK(mixed.energy_j == doctest::Approx(plain.energy_j).epsilon(1e-12));
      CHECK(mixed.cost_usd == doctest::Approx(plain.cost_usd).epsilon(1e-12));
      CHECK(mixed.facility_energy_j == doctest::Approx(plain.facility_energy_j).epsilon(1e-12));
    }
  }
}

TEST_CASE("a node of two kinds takes as long as one of the faster at least, and as one of the slower at most") {
  for (const Sizes& of : kSizes) {
    INFO("t " << of.tensor << " p " << of.pipeline << " zero " << of.zero);
    const auto seconds = [&](Cluster cluster) {
      return simulate(job_of(of, std::move(cluster))).result.iteration_time_s;
    };
    const double mixed = seconds(halves(host(), slow_gpu(), 1));
    CHECK(seconds(whole(host(), host().gpu, 1)) < mixed);
    CHECK(mixed <= seconds(whole(host(), slow_gpu(), 1)));
  }
}

TEST_CASE("kinds of a node reach each other without its network ports, and other nodes through them") {
  NodeHardware no_network = host();
  no_network.network.bandwidth.value /= 100;
  for (const Sizes& of : kSizes) {
    INFO("t " << of.tensor << " p " << of.pipeline << " zero " << of.zero);
    const auto seconds = [&](const NodeHardware& node, int nodes) {
      return simulate(job_of(of, halves(node, slow_gpu(), nodes))).result.iteration_time_s;
    };
    CHECK(seconds(no_network, 1) == seconds(host(), 1));
    CHECK(seconds(no_network, 2) > seconds(host(), 2));
  }
}

TEST_CASE("the network joins each GPU of a mixed node once, by the links of its kind") {
  GpuSpec twin = host().gpu;
  twin.name = "twin";
  const Topology mixed(halves(host(), twin, 2));
  const Topology plain(whole(host(), host().gpu, 2));
  REQUIRE(mixed.links() == plain.links());
  CHECK(mixed.vertices() == plain.vertices());
  for (int link = 0; link < plain.links(); ++link) {
    CHECK(mixed.link_name(link) == plain.link_name(link));
    CHECK(mixed.link_bandwidth(link) == plain.link_bandwidth(link));
  }
  CHECK(mixed.devices_sharing_port(7) == plain.devices_sharing_port(7));

  const Cluster same = halves(host(), twin, 1);
  std::vector<NodeAllotment> nodes(same.groups().begin(), same.groups().end());
  nodes[1].hardware.scale_up.bandwidth.value /= 8;
  nodes[1].hardware.scale_up.name = "slow";
  const Topology two_links(Cluster(nodes, default_fabric()));
  for (int link = 0; link < two_links.links(); ++link) {
    if (two_links.link_type(link) != "scale-up link" || two_links.link_source(link) > 7) continue;
    const double slower = two_links.link_source(link) < 4 ? 1 : 8;
    CHECK(two_links.link_bandwidth(link) * slower == plain.link_bandwidth(link));
  }
  // A collective of both kinds is as slow as on the slower link alone.
  const Sizes all_in_one{1, 1, 0};
  std::vector<NodeAllotment> slow = nodes;
  slow[0].hardware.scale_up = slow[1].hardware.scale_up;
  const auto seconds = [&](const std::vector<NodeAllotment>& on) {
    return simulate(job_of(all_in_one, Cluster(on, default_fabric()))).result.iteration_time_s;
  };
  CHECK(seconds(nodes) == seconds(slow));
  CHECK(seconds(nodes) > simulate(job_of(all_in_one, same)).result.iteration_time_s);
}

TEST_CASE("a mixed node without a job is one idle node, with all of its GPUs") {
  GpuSpec twin = host().gpu;
  twin.name = "twin";
  const auto draw_of = [](const Cluster& cluster, Cluster first_node) {
    Job job = job_of(Sizes{1, 1, 0}, std::move(first_node));
    std::vector<int> devices(8);
    std::iota(devices.begin(), devices.end(), 0);
    job.part = std::make_shared<const ClusterPart>(ClusterPart{cluster, devices});
    return cluster_draw(cluster, simulate_together(std::vector<JobAmong>{{job, 0}}, 2));
  };
  const ClusterDraw mixed = draw_of(halves(host(), twin, 3), halves(host(), twin, 1));
  const ClusterDraw plain = draw_of(whole(host(), host().gpu, 3), whole(host(), host().gpu, 1));
  CHECK(mixed.idle_nodes == 2);
  CHECK(mixed.hosts_w == doctest::Approx(plain.hosts_w));
  CHECK(mixed.idle_w == doctest::Approx(plain.idle_w));
  CHECK(mixed.jobs_w == doctest::Approx(plain.jobs_w));
  CHECK(mixed.usd_per_hour == doctest::Approx(plain.usd_per_hour));
  CHECK(mixed.idle_usd_per_hour == doctest::Approx(plain.idle_usd_per_hour));
}

TEST_CASE("faster GPUs of a node may take more of the batch, which takes less time; one team has one kind") {
  Job job = job_of(1, 1, 8, 0, halves(host(), slow_gpu(), 1));
  job.model.hidden = 4096;  // kernels take longer than their launches
  job.model.ffn = 16384;
  job.model.head_dim = 256;
  const double even = simulate(job).result.iteration_time_s;
  job.strategy.replica_microbatches = {11, 11, 11, 11, 5, 5, 5, 5};
  CHECK(simulate(job).result.iteration_time_s < even);
  CHECK_THROWS_WITH_AS(simulate(job_of(8, 1, 1, 0, halves(host(), slow_gpu(), 1))),
                       doctest::Contains("lie on h100 of hgx-h100 and a100-80g of hgx-h100"), Error);
}

}  // namespace mixed_nodes_test
