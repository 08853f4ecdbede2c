// Slurm's host lists and topologies by hand, and what is refused in them.
#include "network/slurm_topology.hpp"

#include "network/host_list.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace mirfak;

namespace {

using Names = std::vector<std::string>;

Names expanded(const std::string& text) { return HostLists().expand(text, {"t", 1, 1}); }

// The message of the refusal; "" where there is none.
template <typename Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "";
}

std::string refusal_of_conf(const std::string& text) {
  return refusal_of([&] { graph_of(parse_slurm_conf(text, "topology.conf"), "t"); });
}

std::string refusal_of_yaml(const std::string& text) {
  return refusal_of(
      [&] { graph_of(chosen_topology(read_slurm_yaml(Document::from_text(text, "topology.yaml")), {}, {}), "t"); });
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("host lists: ranges keep their zeros, every combination of brackets is a name") {
  CHECK(expanded("n[1-2,05-06],m3") == Names{"n1", "n2", "n05", "n06", "m3"});
  CHECK(expanded("rack[0-1]n[8-9]") == Names{"rack0n8", "rack0n9", "rack1n8", "rack1n9"});
  CHECK(expanded("n[098-101]") == Names{"n098", "n099", "n100", "n101"});
}

TEST_CASE("host lists: what is wrong or too much is refused") {
  for (const char* text : {"", "a,,b", "n[1-2", "n1]", "n[[1]]", "n[2-1]", "n[x]", "n[]"}) {
    CAPTURE(text);
    CHECK(refusal_of([&] { expanded(text); }) != "");
  }
  CHECK(expanded("n[1-1048576]").size() == 1 << 20);
  CHECK(has(refusal_of([] { expanded("n[0-1048576]"); }), "more than 2^20 names"));
  CHECK(has(refusal_of([] { expanded("n[0-9999][0-9999]"); }), "more than 2^20 names"));
  CHECK(expanded(std::string(255, 'n')).front().size() == 255);
  CHECK(has(refusal_of([] { expanded(std::string(256, 'n')); }), "more than 255 characters"));
}

TEST_CASE("host lists: the lists of one file are bounded together") {
  HostLists lists;
  CHECK(lists.expand("a[1-1000000]", {"t", 1, 1}).size() == 1000000);
  CHECK(has(refusal_of([&] { lists.expand("b[1-1000000]", {"t", 2, 1}); }), "more than 2^20 names, with those before"));
  HostLists long_names;
  const std::string name = std::string(200, 'n') + "[1-150000]";
  CHECK(has(refusal_of([&] { long_names.expand(name + "," + name, {"t", 1, 1}); }), "2^25 characters"));
}

TEST_CASE("topology.conf: nodes below a switch follow one another") {
  const NetworkGraph graph =
      graph_of(parse_slurm_conf("switchname=top Switches=leaf[1-2]  # a tree\nSwitchName=leaf2 \\\n  Nodes=b[1-2]\n"
                                "SwitchName=leaf1 Nodes=a[1-3] LinkSpeed=7\n",
                                "topology.conf"),
               "t");
  REQUIRE(graph.devices == 5);
  Names names;
  for (int i = 0; i < graph.devices; ++i) names.push_back(graph.vertices[static_cast<std::size_t>(i)].name);
  CHECK(names == Names{"a1", "a2", "a3", "b1", "b2"});
  CHECK(graph.links.size() == 7);  // a port of each node, and two uplinks
  CHECK(graph.parts() == 1);
}

TEST_CASE("topology.conf: what is no tree is refused at its line") {
  CHECK(has(refusal_of_conf("SwitchName=a Switches=b\nSwitchName=b Switches=a\n"), "topology.conf:1:1"));
  CHECK(has(refusal_of_conf("SwitchName=a Switches=c\n"), "there is no switch 'c'"));
  CHECK(has(refusal_of_conf("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n"), "topology.conf:2:1"));
  CHECK(has(refusal_of_conf("SwitchName=s[1-2] Nodes=n1\n"), "several names"));
  CHECK(has(refusal_of_conf("SwitchName=a Node=n1\n"), "unknown key 'node'"));
  CHECK(has(refusal_of_conf("# nothing\n"), "no SwitchName="));
}

TEST_CASE("topology.yaml: a list of topologies, of which one is the default") {
  const std::string text =
      "- topology: tree\n  tree:\n    switches: [{switch: s, nodes: \"n[1-2]\"}]\n"
      "- topology: racks\n  cluster_default: true\n  block:\n    block_sizes: [1, 2]\n"
      "    blocks: [{block: a, nodes: n1}, {block: b, nodes: n2}, {block: c, nodes: n3}]\n";
  const std::vector<SlurmTopology> all = read_slurm_yaml(Document::from_text(text, "topology.yaml"));
  REQUIRE(all.size() == 2);
  CHECK(chosen_topology(all, "", {}).name == "racks");
  const NetworkGraph racks = graph_of(chosen_topology(all, "", {}), "t");
  CHECK(racks.devices == 3);
  CHECK(racks.vertices.size() == 3 + 3 + 2 + 1);  // nodes, blocks, aggregates of two, one switch above all
  CHECK(graph_of(chosen_topology(all, "tree", {}), "t").devices == 2);
  CHECK(has(refusal_of([&] { chosen_topology(all, "tre", {"s", 1, 1}); }), "no topology 'tre'"));
}

TEST_CASE("topology.yaml: a list without a topology is refused") {
  CHECK(has(refusal_of_yaml("[ ]"), "no topology in this file"));
  CHECK(has(refusal_of_yaml("- topology: a\n  flat: true\n"), "is flat"));
  CHECK(has(refusal_of_yaml("- topology: a\n"), "expected one of tree, block and flat"));
}
