// Prices of communication in nodes that a topology file describes: laws of links and network cards.
#include "cost/collective_model.hpp"
#include "network/fabric_file.hpp"
#include "network/node_file.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <fstream>

namespace inside_prices_test {

using namespace mirfak;
using mirfak::test::NodeFile;

namespace {

constexpr double kLarge = 4e9;

Cluster cluster_of(const std::string& entry) {
  const Document document = Document::from_text("nodes: [{" + entry + "}]\n", "cluster.yaml");
  return with_network_files(read_cluster(Node(document), Catalog(source_root() + "/hw_profiles")));
}

Cluster described(const NodeFile& file, const std::string& entry) {
  const ScratchFolder folder;
  std::ofstream(folder / "node.xml") << file.text();
  return cluster_of(entry + ", topology: \"" + (folder / "node.xml").string() + "\"");
}

CommunicationCost price_of(const Cluster& cluster, CollectiveKind kind, const std::vector<int>& devices) {
  const CollectiveModel model(cluster.groups()[0].hardware, cluster.fabric());
  return model.price(kind, kLarge, communication_group(cluster, devices));
}

NodeFile a100_file() {
  NodeFile file;
  file.links = [](int) { return NodeFile::switched(2); };
  return file;
}

const std::string kA100 = "type: dgx-a100-80g, count: 2";
const std::vector<int> kAll = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
const std::vector<int> kNode = {0, 1, 2, 3, 4, 5, 6, 7};

}  // namespace

TEST_CASE("a file of the stock node prices everything as without it") {
  const Cluster stock = cluster_of(kA100);
  const Cluster same = described(a100_file(), kA100);
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all, CollectiveKind::shift}) {
    for (const std::vector<int>& devices : {kAll, kNode, {0, 1}, {0, 8}, {3, 7, 11, 15}}) {
      CHECK(price_of(same, kind, devices).seconds == price_of(stock, kind, devices).seconds);
    }
  }
}

TEST_CASE("half the network cards, or cards of half the speed, halve what leaves a node") {
  const Cluster whole = described(a100_file(), kA100);
  NodeFile half = a100_file();
  half.has_net = [](int gpu) { return gpu % 2 == 0; };
  NodeFile slow = a100_file();
  slow.net = 100'000;
  for (const NodeFile& file : {half, slow}) {
    const Cluster less = described(file, kA100);
    const double before = price_of(whole, CollectiveKind::all_gather, kAll).bytes_per_s;
    CHECK(price_of(less, CollectiveKind::all_gather, kAll).bytes_per_s == doctest::Approx(before / 2).epsilon(0.05));
    CHECK(price_of(less, CollectiveKind::shift, {0, 8}).bytes_per_s ==
          doctest::Approx(price_of(whole, CollectiveKind::shift, {0, 8}).bytes_per_s / 2));
    CHECK(price_of(less, CollectiveKind::all_gather, kNode).seconds ==
          price_of(whole, CollectiveKind::all_gather, kNode).seconds);
  }
}

TEST_CASE("GPUs in slots of eight lanes send as much as these carry") {
  NodeFile file = a100_file();
  file.width = 8;
  const double share = 16e9 / 8 * 8 * 128 / 130 / 25e9;
  const Cluster whole = described(a100_file(), kA100);
  const Cluster less = described(file, kA100);
  CHECK(price_of(less, CollectiveKind::shift, {0, 8}).bytes_per_s ==
        doctest::Approx(share * price_of(whole, CollectiveKind::shift, {0, 8}).bytes_per_s));
}

TEST_CASE("fewer NVLinks carry less in proportion") {
  NodeFile file = a100_file();
  file.links = [](int) { return NodeFile::switched(1); };
  const Cluster whole = described(a100_file(), kA100);
  const Cluster less = described(file, kA100);
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::shift}) {
    CHECK(price_of(less, kind, kNode).transfer_s == doctest::Approx(2 * price_of(whole, kind, kNode).transfer_s));
  }
}

TEST_CASE("pairs with bridges are fast, and groups over several pairs wait for PCI Express") {
  NodeFile file;
  file.gpus = 4;
  file.links = [](int gpu) { return NodeFile::to(gpu ^ 1, 12); };
  const std::string entry = "type: a100-pcie-4, count: 1";
  const Cluster bridged = described(file, entry + ", scale_up: nvlink3");
  file.links = {};
  const Cluster plain = described(file, entry);
  const auto rate = [](const Cluster& cluster, const std::vector<int>& devices) {
    return price_of(cluster, CollectiveKind::all_gather, devices).bytes_per_s;
  };
  CHECK(rate(bridged, {0, 1}) > 5 * rate(plain, {0, 1}));
  CHECK(rate(bridged, {0, 2}) == rate(plain, {0, 2}));
  CHECK(rate(bridged, {0, 2}) < rate(plain, {0, 1}));
  CHECK(rate(bridged, {0, 1, 2, 3}) == rate(plain, {0, 1, 2, 3}));
  CHECK(price_of(bridged, CollectiveKind::shift, {0, 1}).seconds <
        price_of(bridged, CollectiveKind::shift, {0, 2}).seconds);
}

TEST_CASE("a bridge less between two pairs slows all groups like that one") {
  NodeFile file;
  file.gpus = 4;
  const auto links_of = [](int gpu) { return gpu < 2 ? 12 : 4; };
  file.links = [&](int gpu) { return NodeFile::to(gpu ^ 1, links_of(gpu)); };
  const Cluster cluster = described(file, "type: a100-pcie-4, count: 1, scale_up: nvlink3");
  const double first = price_of(cluster, CollectiveKind::all_gather, {0, 1}).seconds;
  CHECK(price_of(cluster, CollectiveKind::all_gather, {2, 3}).seconds == first);
}

}  // namespace inside_prices_test
