// Insides of nodes from topology files: what the links of a file make of GPUs, groups of them and network cards.
#include "network/node_inside.hpp"

#include "cluster/fixtures.hpp"
#include "network/fabric_file.hpp"
#include "network/node_file.hpp"
#include "network/node_topology.hpp"
#include "network/topology.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

using namespace mirfak;
using mirfak::test::NodeFile;

namespace {

constexpr double kPcie4 = 16e9 / 8 * 16 * 128 / 130;  // bytes/s of 16 lanes

NodeInside inside_of(const std::string& text, int gpus) {
  return {read_nccl_system(text, "node.xml"), gpus, {kPcie4, 25e9}};
}
NodeInside inside_of(const NodeFile& file) { return inside_of(file.text(), file.gpus); }

// Clusters of nodes that a file describes.
class Described {
 public:
  explicit Described(const std::string& text) { std::ofstream(folder_ / "node.xml") << text; }

  Cluster cluster(const std::string& entry) const {
    const std::string path = (folder_ / "node.xml").string();
    const Document document = Document::from_text(
        "nodes: [{" + entry + ", topology: \"" + path + "\"}]\nfabric: {type: rail-optimized}\n", "cluster.yaml");
    return with_network_files(read_cluster(Node(document), catalog()));
  }

  std::string refusal(const std::string& entry) const {
    try {
      static_cast<void>(cluster(entry));
    } catch (const Error& error) {
      return error.where().text() + ": " + error.message();
    }
    return "";
  }

 private:
  ScratchFolder folder_;
};

NodeFile switched_file() {
  NodeFile file;
  file.links = [](int) { return NodeFile::switched(2); };
  return file;
}

// Pairs of GPUs with bridges.
NodeFile bridged_file() {
  NodeFile file;
  file.gpus = 4;
  file.links = [](int gpu) { return NodeFile::to(gpu ^ 1, 12); };
  return file;
}

int links_of_mesh(int a, int b) {
  constexpr int pairs[16][3] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 2},
                                {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
  for (const auto& pair : pairs) {
    if (pair[0] == std::min(a, b) && pair[1] == std::max(a, b)) return pair[2];
  }
  return 0;
}

std::string full_mesh(int gpu, int gpus, int count) {
  std::string out;
  for (int peer = 0; peer < gpus; ++peer) {
    if (peer != gpu) out += NodeFile::to(peer, count);
  }
  return out;
}

}  // namespace

TEST_CASE("a node over switches has the rates of its links, and its groups are as any") {
  const NodeInside inside = inside_of(switched_file());
  CHECK(inside.kind() == ScaleUpKind::switched);
  CHECK(inside.scale_up_rate() == 300e9);
  CHECK(inside.pcie_rate() == doctest::Approx(kPcie4));
  CHECK(inside.alike());
  CHECK(inside.ports().size() == 8);
  for (int gpu = 0; gpu < 8; ++gpu) {
    CHECK(inside.port_share(gpu) == 25e9);
    CHECK(inside.port_of(gpu) == gpu);
  }
  CHECK(inside.group(std::vector{0, 1, 2, 3}) == GroupInside());
}

TEST_CASE("GPUs below one switch share what leads up from it") {
  NodeFile file = switched_file();
  CHECK(inside_of(file).host_rate() == doctest::Approx(kPcie4 / 2));
  file.upstream = 8;
  CHECK(inside_of(file).host_rate() == doctest::Approx(kPcie4 / 4));
  file.upstream = 16;
  file.width = 4;
  CHECK(inside_of(file).host_rate() == doctest::Approx(kPcie4 / 4));
}

TEST_CASE("a card for two GPUs is shared, and a slow slot bounds what a GPU sends") {
  NodeFile file = switched_file();
  file.has_net = [](int gpu) { return gpu % 2 == 0; };
  const NodeInside half = inside_of(file);
  CHECK(half.used_nets() == 4);
  CHECK(half.ports().size() == 4);
  for (int gpu = 0; gpu < 8; ++gpu) {
    CHECK(half.port_share(gpu) == doctest::Approx(12.5e9));
    CHECK(half.port_of(gpu) == gpu / 2);
  }
  file.has_net = [](int) { return true; };
  file.width = 8;
  CHECK(inside_of(file).port_share(3) == doctest::Approx(kPcie4 / 2));
}

TEST_CASE("cards on one processor serve the GPUs of both, and GPUs with a card of their own have more") {
  NodeFile file = switched_file();
  file.has_net = [](int gpu) { return gpu == 0; };
  const NodeInside one = inside_of(file);
  for (int gpu = 0; gpu < 8; ++gpu) CHECK(one.port_share(gpu) == doctest::Approx(25e9 / 8));

  file.gpus = 4;
  file.has_net = [](int gpu) { return gpu != 1; };
  const NodeInside unequal = inside_of(file);
  CHECK(unequal.port_share(0) == doctest::Approx(12.5e9));
  CHECK(unequal.port_share(2) == doctest::Approx(25e9));
  CHECK_FALSE(unequal.alike());
  // The slowest like it, which is {0, 1}; of the whole node all that leaves it.
  CHECK(unequal.group(std::vector{2, 3}).port_share == doctest::Approx(12.5e9));
  CHECK(unequal.group(std::vector{0, 1, 2, 3}).port_share == doctest::Approx(75e9 / 4));
}

TEST_CASE("cards that are nearest to no GPU are not used") {
  std::string text = switched_file().text();
  const std::string far =
      "<cpu numaid=\"7\"><pci busid=\"0000:f0:00.0\" class=\"0x020700\" link_speed=\"16 GT/s\" link_width=\"16\">"
      "<nic><net name=\"storage\" dev=\"8\" speed=\"100000\"/></nic></pci></cpu></system>";
  text.replace(text.rfind("</system>"), std::string::npos, far);
  const NodeInside inside = inside_of(text, 8);
  CHECK(inside.used_nets() == 8);
  CHECK(inside.unused_nets() == std::vector<std::string>{"net storage"});
}

TEST_CASE("rings of a group are found on its direct links") {
  NodeFile file;
  file.sm = 70;
  file.links = [](int gpu) {
    std::string out;
    for (int peer = 0; peer < 8; ++peer) {
      if (links_of_mesh(gpu, peer) > 0) out += NodeFile::to(peer, links_of_mesh(gpu, peer));
    }
    return out;
  };
  const NodeInside mesh = inside_of(file);
  CHECK(mesh.kind() == ScaleUpKind::direct);
  CHECK(mesh.scale_up_rate() == 150e9);
  // NCCL's rings on a DGX-1 use all six links of each GPU; a quad has four of them, and a pair those between the two.
  CHECK(mesh.group(std::vector{0, 1, 2, 3, 4, 5, 6, 7}).ring.share == doctest::Approx(1));
  CHECK(mesh.group(std::vector{0, 1, 2, 3}).ring.share == doctest::Approx(4.0 / 6));
  CHECK(mesh.group(std::vector{0, 4}).ring == InsideWay{false, 1.0 / 6, false});  // {3, 7} has one link
  CHECK(mesh.group(std::vector{0, 5}).ring.over_pcie);                            // not joined

  NodeFile full;
  full.links = [](int gpu) { return full_mesh(gpu, 8, 1); };
  const NodeInside all = inside_of(full);
  CHECK(all.group(std::vector{0, 1, 2, 3, 4, 5, 6, 7}).ring.share == doctest::Approx(1));
  CHECK(all.group(std::vector{0, 1, 2, 3}).ring.share == doctest::Approx(3.0 / 7));
  CHECK(all.group(std::vector{0, 1}).ring.share == doctest::Approx(1.0 / 7));
  CHECK(all.group(std::vector{0, 1, 2, 3, 4, 5, 6, 7}).exchange.share == doctest::Approx(1));
  CHECK(all.group(std::vector{0, 1, 2, 3, 4, 5, 6, 7}).send.share == doctest::Approx(1.0 / 7));
}

TEST_CASE("bridges join pairs, and what is between pairs goes over PCI Express") {
  const NodeInside inside = inside_of(bridged_file());
  CHECK(inside.needs_pcie());
  CHECK(inside.group(std::vector{0, 1}).ring == InsideWay{false, 1, false});
  // Moved along, the group {1, 2} is alone, and not joined.
  CHECK(inside.group(std::vector{1, 2}).ring.over_pcie);
  // Two rings at once, {0, 2} and {1, 3}, share the links up from the switches.
  CHECK(inside.group(std::vector{0, 2}).ring == InsideWay{true, 0.5, true});
  // One ring through all crosses each once, and uses the bridges inside pairs.
  CHECK(inside.group(std::vector{0, 1, 2, 3}).ring == InsideWay{true, 1, true});
  // Two of each GPU's three pieces leave the pair, those of both GPUs over one link.
  CHECK(inside.group(std::vector{0, 1, 2, 3}).exchange.share == doctest::Approx(3.0 / 4));
}

TEST_CASE("GPUs without NVLinks reach each other through switches at full rate, and up from them share it") {
  NodeFile file;
  file.gpus = 4;
  const NodeInside inside = inside_of(file);
  CHECK(inside.kind() == ScaleUpKind::none);
  CHECK(inside.group(std::vector{0, 1}).ring == InsideWay{true, 1, true});
  CHECK(inside.group(std::vector{0, 2}).ring.share == doctest::Approx(0.5));
  CHECK(inside.group(std::vector{0, 1, 2, 3}).ring.share == doctest::Approx(1));
  file.upstream = 8;
  CHECK(inside_of(file).group(std::vector{0, 1, 2, 3}).ring.share == doctest::Approx(0.5));
}

TEST_CASE("a GPU that lost links slows the groups like its own, and no others") {
  NodeFile file = switched_file();
  file.links = [](int gpu) { return NodeFile::switched(gpu == 5 ? 1 : 2); };
  const NodeInside inside = inside_of(file);
  CHECK(inside.scale_up_rate() == 300e9);
  CHECK(inside.group(std::vector{0, 1}).ring.share == doctest::Approx(0.5));
  CHECK_FALSE(inside.alike());
}

TEST_CASE("GPUs are numbered by rank, else by dev, else by busid") {
  std::string text = bridged_file().text();
  const auto swap = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  CHECK(inside_of(text, 4).vertices()[0] == 0);
  swap("rank=\"0\"", "rank=\"9\"");
  CHECK(inside_of(text, 4).vertices()[3] == 0);  // ranks 9, 1, 2, 3
  swap("rank=\"1\"", "rank=\"9\"");              // twice: they say nothing, dev does
  CHECK(inside_of(text, 4).vertices()[0] == 0);
}

TEST_CASE("a file of the node type changes none of its rates") {
  const Described described(switched_file().text());
  const Cluster cluster = described.cluster("type: dgx-a100-80g, count: 2");
  const NodeHardware& node = cluster.groups()[0].hardware;
  const NodeHardware stock = catalog().node("dgx-a100-80g");
  CHECK(node.scale_up == stock.scale_up);
  CHECK(node.network == stock.network);
  CHECK(node.spec.ports == 8);
  CHECK(node.spec.wiring == Wiring::switched);
  CHECK(node.host_link.bandwidth.value == doctest::Approx(kPcie4 / 2));  // two GPUs on a link upwards
  CHECK(topology_notes(cluster).size() == 1);
}

TEST_CASE("the graph of a cluster has the inside that the file says") {
  const Described described(bridged_file().text());
  const Cluster cluster = described.cluster("type: a100-pcie-4, count: 2, scale_up: nvlink3");
  const Topology topology(cluster);
  CHECK(topology.route(0, 1).links.size() == 1);
  CHECK(topology.route(0, 1).bandwidth == 300e9);
  CHECK(topology.route(0, 2).bandwidth == doctest::Approx(kPcie4));
  CHECK(topology.route(0, 2).links.size() == 5);  // switch, processor, processor, switch
  CHECK(topology.vertex_type(topology.link_target(topology.route(0, 2).links[0])) == "pci switch");
  for (int device = 0; device < 8; ++device) {
    REQUIRE(topology.attachments(device).size() == 1);
    CHECK(topology.attachments(device)[0].links.size() == 4);  // switch, card, port, leaf
    CHECK(topology.devices_sharing_port(device) == 1);
  }
  CHECK(topology.route(0, 4).bandwidth == 25e9);
}

TEST_CASE("ranks that share GPUs share what the file says of these") {
  const Described described(bridged_file().text());
  const Cluster cluster = described.cluster("type: a100-pcie-4, count: 2, scale_up: nvlink3, ranks_per_gpu: 2");
  CHECK(cluster.gpus() == 16);
  const Topology topology(cluster);
  CHECK(topology.route(0, 2).bandwidth == 300e9);
  CHECK(topology.devices_sharing_port(0) == 2);
}

TEST_CASE("files that cannot be the inside of a node are refused at their place") {
  NodeFile file = switched_file();
  file.gpus = 6;
  CHECK(Described(file.text()).refusal("type: dgx-a100-80g, count: 2").find("node.xml:1:1: 6 GPUs") !=
        std::string::npos);
  file = switched_file();
  file.sm = 90;
  CHECK(Described(file.text()).refusal("type: dgx-a100-80g, count: 2").find("is of sm_90") != std::string::npos);
  file = switched_file();
  file.has_net = [](int) { return false; };
  CHECK(Described(file.text()).refusal("type: dgx-a100-80g, count: 2").find("no network card") != std::string::npos);
  CHECK(Described(file.text()).refusal("type: dgx-a100-80g, count: 1").empty());
  CHECK(Described(bridged_file().text()).refusal("type: a100-pcie-4, count: 2").find("NVLinks, and node type") !=
        std::string::npos);
  CHECK(Described(switched_file().text()).refusal("type: dgx-a100-80g, count: 2, ports: 4").find("ports") !=
        std::string::npos);
  std::string text = switched_file().text();
  text.insert(text.find("<cpu numaid=\"1\"") + 4, " host_hash=\"0x2\"");
  CHECK(Described(text).refusal("type: dgx-a100-80g, count: 2").find("of 2 hosts") != std::string::npos);
}

TEST_CASE("attributes that nobody knows are noted") {
  NodeFile file = switched_file();
  file.extra = " colour=\"green\"";
  const std::vector<std::string> notes = topology_notes(Described(file.text()).cluster("type: dgx-a100-80g, count: 2"));
  REQUIRE(notes.size() == 2);
  CHECK(notes[1].find("colour of <gpu>") != std::string::npos);
}
