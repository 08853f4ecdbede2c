#include "cluster/cluster.hpp"

#include "fixtures.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <numeric>

using namespace mirfak;

namespace {

// 2 DGX A100 and 3 trays of a GB200 rack: devices 0-15 and 16-27.
Cluster mixed_cluster() {
  return {{{catalog().node("dgx-a100-80g"), 2, {}}, {catalog().node("gb200-nvl72"), 3, {}}}, default_fabric()};
}

}  // namespace

TEST_CASE("devices are numbered group after group, node after node") {
  const Cluster cluster = mixed_cluster();
  CHECK(cluster.gpus() == 28);
  CHECK(cluster.nodes() == 5);
  CHECK(cluster.domains() == 3);
  CHECK(cluster.gpu_of(15).name == "a100-80g");
  CHECK(cluster.gpu_of(16).name == "gb200");
  const DevicePlace last_dgx = cluster.place_of(15);
  CHECK(last_dgx.node == 1);
  CHECK(last_dgx.local == 7);
  CHECK(last_dgx.domain == 1);
  const DevicePlace last_tray = cluster.place_of(27);
  CHECK(last_tray.group == 1);
  CHECK(last_tray.node == 4);
  CHECK(last_tray.local == 3);
  CHECK(last_tray.domain == 2);
}

TEST_CASE("every device has a place of its own, and places follow each other") {
  const Cluster cluster = mixed_cluster();
  DevicePlace before = cluster.place_of(0);
  for (int device = 1; device < cluster.gpus(); ++device) {
    const DevicePlace place = cluster.place_of(device);
    const bool next_in_node = place.node == before.node && place.local == before.local + 1;
    const bool next_node = place.node == before.node + 1 && place.local == 0;
    CHECK((next_in_node || next_node));
    CHECK(place.domain >= before.domain);
    before = place;
  }
}

TEST_CASE("a rack of 72 is one domain, and 73 GPUs need two") {
  // 18 trays of 4 GPUs share the switches of a rack.
  CHECK(uniform_cluster("gb200-nvl72", 18).domains() == 1);
  CHECK(uniform_cluster("gb200-nvl72", 19).domains() == 2);
}

TEST_CASE("the shape of a group says how its ranks are spread") {
  const Cluster cluster = uniform_cluster("dgx-a100-80g", 4);
  std::vector<int> all(32);
  std::iota(all.begin(), all.end(), 0);
  const GroupShape whole = shape_of(cluster, all);
  CHECK(whole.ranks == 32);
  CHECK(whole.nodes == 4);
  CHECK(whole.ranks_per_node == 8);
  CHECK(whole.domains == 4);
  CHECK(whole.node_groups == 1);

  const GroupShape one_each = shape_of(cluster, std::vector<int>{24, 0, 16, 8});
  CHECK(one_each.nodes == 4);
  CHECK(one_each.ranks_per_node == 1);

  const GroupShape uneven = shape_of(cluster, std::vector<int>{7, 8, 9, 10});
  CHECK(uneven.nodes == 2);
  CHECK(uneven.ranks_per_node == 3);

  CHECK(shape_of(cluster, {}).ranks == 0);
  CHECK(shape_of(cluster, {}).nodes == 0);
}

TEST_CASE("the shape of a group over trays of one rack is one domain; over node types it counts them") {
  const Cluster cluster = mixed_cluster();
  const GroupShape trays = shape_of(cluster, std::vector<int>{16, 20, 21, 24});
  CHECK(trays.nodes == 3);
  CHECK(trays.ranks_per_node == 2);
  CHECK(trays.domains == 1);
  CHECK(trays.ranks_per_domain == 4);
  CHECK(shape_of(cluster, std::vector<int>{0, 16}).node_groups == 2);
}

TEST_CASE("the order of a group's ranks does not matter") {
  const Cluster cluster = mixed_cluster();
  const GroupShape forward = shape_of(cluster, std::vector<int>{0, 3, 9, 17, 18, 25});
  const GroupShape shuffled = shape_of(cluster, std::vector<int>{18, 9, 25, 0, 17, 3});
  CHECK(forward.nodes == shuffled.nodes);
  CHECK(forward.ranks_per_node == shuffled.ranks_per_node);
  CHECK(forward.domains == shuffled.domains);
  CHECK(forward.ranks_per_domain == shuffled.ranks_per_domain);
}

TEST_CASE("a cluster section has the defaults of a rail-optimized fabric and on-demand prices") {
  const Document document = Document::from_text("nodes: [{type: dgx-a100-80g, count: 192}]", "job.yaml");
  const Cluster cluster = read_cluster(Node(document), catalog());
  CHECK(cluster.gpus() == 1536);
  CHECK(cluster.fabric().type == FabricType::rail_optimized);
  CHECK(cluster.fabric().oversubscription == 1);
  CHECK(cluster.groups()[0].price->kind == PriceKind::on_demand);
  CHECK(cluster.groups()[0].price->provider == "median");
}

TEST_CASE("a cluster section chooses fabric, oversubscription and prices") {
  const Document document = Document::from_text(
      "nodes: [{type: hgx-h100, count: 2}, {type: hgx-h20, count: 1}]\n"
      "fabric: {type: fat-tree, oversubscription: 4}\n"
      "price: aws/spot\n",
      "job.yaml");
  const Cluster cluster = read_cluster(Node(document), catalog());
  CHECK(cluster.fabric().type == FabricType::fat_tree);
  CHECK(cluster.fabric().oversubscription == 4);
  CHECK(cluster.groups()[0].price->usd_per_gpu_hour.value == doctest::Approx(2.7029));
  CHECK_FALSE(cluster.groups()[1].price.has_value());
}

TEST_CASE("ranks that share a GPU have a device each, and one place") {
  const auto read = [](const std::string& node) {
    return read_cluster(Node(Document::from_text("nodes: [{type: " + node + "}]", "job.yaml")), catalog());
  };
  const Cluster cluster = read("hgx-h100, count: 2, gpus: 2, ranks_per_gpu: 3");
  CHECK(cluster.gpus() == 12);
  CHECK(cluster.shares_gpus());
  CHECK(cluster.place_of(2).gpu == cluster.place_of(0).gpu);
  CHECK(cluster.place_of(3).gpu != cluster.place_of(2).gpu);
  CHECK(cluster.place_of(5).node == 0);
  CHECK(cluster.place_of(6).node == 1);
  CHECK(cluster.place_of(6).gpu != cluster.place_of(5).gpu);
  CHECK_FALSE(read("hgx-h100, count: 2, gpus: 2").shares_gpus());
  CHECK_THROWS_WITH_AS(read("hgx-h100, count: 1, ranks_per_gpu: 0"), doctest::Contains("ranks_per_gpu"), Error);
  CHECK_THROWS_WITH_AS(read("dgx-1-v100-32g, count: 1, ranks_per_gpu: 2"), doctest::Contains("cube mesh"), Error);
}

TEST_CASE("a cluster does without the fans and the power supplies of its nodes, and says so") {
  const auto cluster_of = [](const std::string& changes) {
    const std::string nodes = "nodes: [{type: hgx-h100, count: 2" + changes + "}]";
    return read_cluster(Node(Document::from_text(nodes, "job.yaml")), catalog());
  };
  const NodeSpec type = catalog().node("hgx-h100").spec;
  const double fans_w = type.fan_power_w.value().value;
  const double lost_w = type.supply_loss_w.value().value;
  const Cluster built = cluster_of("");
  CHECK(built.host_power_w() == 2 * type.host_power_w.value);
  CHECK_FALSE(built.facility().asked);
  const Cluster immersed = cluster_of(", cooling: immersion");
  CHECK(immersed.host_power_w() == doctest::Approx(2 * (type.host_power_w.value - fans_w)));
  CHECK(immersed.facility().asked);
  CHECK(immersed.groups().front().hardware.spec.host_power_w.source.find("less 1680 W") != std::string::npos);
  const Cluster both = cluster_of(", cooling: immersion, feed: direct-current");
  CHECK(both.host_power_w() == doctest::Approx(2 * (type.host_power_w.value - fans_w - lost_w)));
  CHECK(cluster_of(", cooling: as-built, feed: as-built").host_power_w() == built.host_power_w());
}

TEST_CASE("hosts without work draw what is known of it, else what they draw with work") {
  const Cluster trays = uniform_cluster("gb200-nvl72", 18);
  const NodeSpec tray = catalog().node("gb200-nvl72").spec;
  CHECK(trays.idle_host_power_w() == 18 * tray.host_idle_power_w.value().value);
  CHECK(trays.idle_host_power_w() < trays.host_power_w());
  const Cluster unknown = uniform_cluster("dgx-a100-80g", 4);
  CHECK(unknown.idle_host_power_w() == unknown.host_power_w());
}

TEST_CASE("a price is stated by the cluster, by an entry, or by a list of one's own") {
  const ScratchFolder folder;
  std::ofstream(folder / "ours.yaml") << "title: Our contract\nsources: {contract: 'signed in March'}\n"
                                         "offers:\n  - {gpu: h100, date: 2026-03, on-demand: [2, contract], "
                                         "spot: [1, contract]}\n";
  const auto prices = [&](const std::string& text) {
    std::ofstream(folder / "job.yaml") << text;
    const Document document = Document::from_file(folder / "job.yaml");
    std::vector<double> out;
    const Cluster cluster = read_cluster(Node(document), catalog());
    for (const NodeGroup& group : cluster.groups()) {
      out.push_back(group.price ? group.price->usd_per_gpu_hour.value : 0);
    }
    return out;
  };
  const std::string two = "nodes: [{type: hgx-h100, count: 1}, {type: hgx-h20, count: 1, price: 0.9}]\n";
  CHECK(prices(two + "price: 2.5") == std::vector<double>{2.5, 0.9});
  CHECK(prices(two + "price: ./ours.yaml/spot") == std::vector<double>{1, 0.9});
  CHECK(prices(two + "price: ours.yaml") == std::vector<double>{2, 0.9});
  CHECK(prices("nodes: [{type: hgx-h100, count: 1, price: aws/spot}, {type: hgx-h20, count: 1}]\nprice: ours.yaml") ==
        std::vector<double>{2.7029, 0});
  const auto refused = [&](const std::string& price, const std::string& said) {
    CAPTURE(price);
    CHECK_THROWS_WITH_AS(prices(two + "price: " + price), doctest::Contains(said.c_str()), Error);
  };
  refused("0", "2:8");
  refused("-2", "2:8");
  refused("1e6", "2:8");
  refused("2.5x", "2:8");
  refused("'2.5'", "unknown price '2.5'");
  refused("cheap", "aws, azure");
  refused("aws", "expected aws/on-demand or aws/spot");
  refused("amazon/spot", "unknown price list 'amazon'");
  refused("amazon/spot", "aws, azure, crusoe");
  refused("avs/spot", "did you mean 'aws'? there are aws, azure");
  refused("./theirs.yaml/spot", "there is no file");
}

TEST_CASE("what has no price is named, with where it was looked for") {
  const Document document = Document::from_text(
      "nodes: [{type: hgx-h100, count: 1}, {type: hgx-h20, count: 1, price: gcp/spot}, {type: aws-p3, count: 1}]\n"
      "price: aws/spot\n",
      "job.yaml");
  CHECK(read_cluster(Node(document), catalog()).missing_prices() ==
        "no price for h20 at gcp/spot, v100-16g (p3.16xlarge) at aws/spot");
}
