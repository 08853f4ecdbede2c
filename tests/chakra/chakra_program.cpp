#include "chakra/chakra_program.hpp"

#include "engine/execute.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace mirfak;

namespace {

ChakraNode node(std::uint64_t id, ChakraNodeKind kind, std::uint64_t us, std::vector<std::uint64_t> after = {}) {
  ChakraNode out;
  out.id = id;
  out.name = "node " + std::to_string(id);
  out.kind = kind;
  out.duration_us = us;
  out.data_dependencies = std::move(after);
  if (kind == ChakraNodeKind::collective) out.collective = ChakraCollective::all_reduce;
  return out;
}

ChakraNode message(std::uint64_t id, ChakraNodeKind kind, std::int64_t peer, std::uint64_t us,
                   std::vector<std::uint64_t> after = {}) {
  ChakraNode out = node(id, kind, us, std::move(after));
  out.peer = peer;
  return out;
}

ChakraTrace trace(std::int64_t rank, std::vector<ChakraNode> nodes) {
  ChakraTrace out;
  out.file = "t." + std::to_string(rank) + ".et";
  out.rank = rank;
  out.nodes = std::move(nodes);
  return out;
}

double microseconds(const std::vector<ChakraTrace>& traces) {
  return to_seconds(execute(chakra_program(traces).program).makespan) * 1e6;
}

std::string refusal(const std::vector<ChakraTrace>& traces) {
  try {
    chakra_program(traces);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr ChakraNodeKind kCompute = ChakraNodeKind::compute;
constexpr ChakraNodeKind kCollective = ChakraNodeKind::collective;
constexpr ChakraNodeKind kSend = ChakraNodeKind::send;
constexpr ChakraNodeKind kReceive = ChakraNodeKind::receive;

}  // namespace

TEST_CASE("nodes that nothing orders run beside each other, others in a row") {
  CHECK(microseconds({trace(0, {node(1, kCompute, 5), node(2, kCompute, 7), node(3, kCompute, 2, {1, 2})})}) ==
        doctest::Approx(9));
}

TEST_CASE("a collective begins when the last of its ranks is there") {
  const auto late = trace(1, {node(1, kCompute, 30), node(2, kCollective, 10, {1})});
  const auto early = trace(0, {node(1, kCompute, 5), node(2, kCollective, 10, {1}), node(3, kCompute, 1, {2})});
  CHECK(microseconds({early, late}) == doctest::Approx(41));
  // A computation of the host in front of the collective waits for nobody.
  auto host = early;
  host.nodes[1].on_host = true;
  CHECK(microseconds({host}) == doctest::Approx(16));
}

TEST_CASE("groups are apart, and collectives of a group are matched in their order") {
  auto a = trace(0, {node(1, kCollective, 10), node(2, kCollective, 20, {1})});
  auto b = trace(1, {node(1, kCompute, 100), node(2, kCollective, 10, {1})});
  auto c = trace(2, {node(2, kCollective, 20)});
  a.nodes[0].group = "left";
  b.nodes[1].group = "left";
  a.nodes[1].group = "right";
  c.nodes[0].group = "right";
  CHECK(microseconds({a, b, c}) == doctest::Approx(130));
}

TEST_CASE("a receive ends when its message is there, and a send waits for nobody") {
  const auto sender = trace(0, {node(1, kCompute, 10), message(2, kSend, 1, 5, {1}), node(3, kCompute, 1, {2})});
  const auto idle = trace(1, {message(1, kReceive, 0, 0), node(2, kCompute, 3, {1})});
  CHECK(microseconds({sender, idle}) == doctest::Approx(18));
  const auto busy = trace(1, {node(1, kCompute, 50), message(2, kReceive, 0, 0, {1})});
  const ChakraProgram joined = chakra_program(std::vector<ChakraTrace>{sender, busy});
  const Timeline timeline = execute(joined.program);
  CHECK(to_seconds(timeline.end[joined.task_of[0][2]]) * 1e6 == doctest::Approx(16));
  CHECK(to_seconds(timeline.makespan) * 1e6 == doctest::Approx(50));
}

TEST_CASE("a rendezvous makes both ends wait") {
  auto sender = trace(0, {message(1, kSend, 1, 5), node(2, kCompute, 1, {1})});
  auto busy = trace(1, {node(1, kCompute, 50), message(2, kReceive, 0, 5, {1})});
  sender.nodes[0].rendezvous = busy.nodes[1].rendezvous = true;
  CHECK(microseconds({sender, busy}) == doctest::Approx(56));
}

TEST_CASE("what is not in the files is said, and waits for nobody") {
  const auto alone = trace(0, {node(1, kCompute, 5, {77}), message(2, kSend, 9, 5, {1})});
  const ChakraProgram joined = chakra_program(std::vector<ChakraTrace>{alone});
  REQUIRE(joined.notes.size() == 2);
  CHECK(joined.notes[0] == "dependencies on nodes that are not in the files, for which nothing waits: 1");
  CHECK(joined.notes[1] == "sends and receives with ranks whose files were not given, which wait for nobody: 1");
}

TEST_CASE("files that do not fit together are refused with the node") {
  const auto one = trace(0, {node(1, kCollective, 1)});
  CHECK(refusal({one, trace(1, {node(1, kCollective, 1), node(2, kCollective, 1)})})
            .find("node 2 ('node 2') of rank 1: it has collective 2 of group '', which rank 0 does not have") !=
        std::string::npos);
  auto other = trace(1, {node(1, kCollective, 1)});
  other.nodes[0].collective = ChakraCollective::all_gather;
  CHECK(refusal({one, other}).find("it is not of the kind of node 1") != std::string::npos);
  CHECK(refusal({one, one}).find("rank 0 is that of t.0.et, too") != std::string::npos);
  CHECK(refusal({trace(0, {message(1, kSend, 1, 1)}), trace(1, {node(1, kCompute, 1)})})
            .find("rank 0 sends rank 1 1 messages with tag 0, and that receives 0") != std::string::npos);
  CHECK(refusal({trace(0, {node(1, kCompute, 1, {2}), node(2, kCompute, 1, {1})})}).find("it waits in a circle") !=
        std::string::npos);
}
