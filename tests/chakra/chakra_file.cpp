#include "chakra/chakra_file.hpp"

#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

namespace chakra_file_test {

using namespace mirfak;

namespace {

std::filesystem::path file(const ScratchFolder& folder, const std::string& name, const std::string& content) {
  std::ofstream(folder.path() / name, std::ios::binary) << content;
  return folder.path() / name;
}

std::string refusal(const std::filesystem::path& path) {
  try {
    read_chakra_trace(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("what is written is read back") {
  const ScratchFolder folder;
  ChakraTrace head;
  head.rank = 12;
  head.version = "0.0.4";
  head.groups = {{"7", 16}};
  ChakraNode compute;
  compute.id = 3;
  compute.name = "qkv_projection mb 2";
  compute.kind = ChakraNodeKind::compute;
  compute.control_dependencies = {1};
  compute.data_dependencies = {0, 2};
  compute.duration_us = 17;
  compute.duration_ps = 17'000'000'000'000'123;
  compute.operations = 4e12;
  compute.stream = "compute";
  ChakraNode send;
  send.id = 4;
  send.kind = ChakraNodeKind::send;
  send.peer = 20;
  send.tag = 5;
  send.bytes = 1 << 20;
  send.rendezvous = true;
  const auto path = folder.path() / "x.12.et";
  {
    std::ofstream out(path, std::ios::binary);
    ChakraWriter writer(out, head);
    writer.add(compute);
    writer.add(send);
  }
  const ChakraTrace back = read_chakra_trace(path);
  CHECK(back.rank == 12);
  CHECK(back.version == "0.0.4");
  REQUIRE(back.groups.size() == 1);
  CHECK(back.groups[0].size == 16);
  REQUIRE(back.nodes.size() == 2);
  CHECK(back.nodes[0].name == compute.name);
  CHECK(back.nodes[0].control_dependencies == compute.control_dependencies);
  CHECK(back.nodes[0].data_dependencies == compute.data_dependencies);
  CHECK(back.nodes[0].duration_ps == compute.duration_ps);
  CHECK(back.nodes[0].operations == compute.operations);
  CHECK(back.nodes[1].peer == send.peer);
  CHECK(back.nodes[1].tag == send.tag);
  CHECK(back.nodes[1].bytes == send.bytes);
  CHECK(back.nodes[1].rendezvous);
  CHECK_FALSE(back.nodes[1].duration_us.has_value());
}

TEST_CASE("files that are no traces are refused with the message") {
  const ScratchFolder folder;
  CHECK(refusal(file(folder, "empty.0.et", "")).find("the file is empty") != std::string::npos);
  CHECK(refusal(file(folder, "cut.0.et", "\x0a\x0a\x03")).find("message 0: the file ends within its 10 bytes") !=
        std::string::npos);
  CHECK(refusal(file(folder, "long.0.et", "\xff\xff\xff\xff\x7f")).find("more than 268435456 are not read") !=
        std::string::npos);
  CHECK(refusal(file(folder, "text.0.et", "model: llama2-7b\n")) != "");
  CHECK(
      refusal(file(folder, "observer.json", "{\"schema\": \"1.0.2\", \"nodes\": []}")).find("no list workload_graph") !=
      std::string::npos);
  CHECK(refusal(file(folder, "no.json", "{\n\"workload_graph\": [}")).find("no.json:2") != std::string::npos);
  CHECK(refusal(file(folder, "node.json", "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 9}]}"))
            .find("workload_graph[0]: its type is 9") != std::string::npos);
  const std::string twice = "{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 4}, {\"Id\": 1, \"NodeType\": 4}]}";
  CHECK(refusal(file(folder, "twice.json", twice)).find("two nodes have the id 1") != std::string::npos);
}

}  // namespace chakra_file_test
