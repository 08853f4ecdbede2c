// Graphs of dependencies: read from tables, derived from traces.

#include "replay/derived_graph.hpp"
#include "small_trace.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

using namespace mirfak;
using namespace mirfak::test;

namespace {

std::set<std::string> before(const StepGraph& graph, const std::string& name) {
  std::set<std::string> out;
  for (const GraphOperation& operation : graph.operations) {
    if (operation.name.text() != name) continue;
    for (const std::uint32_t other : operation.after) out.insert(graph.operations[other].name.text());
  }
  return out;
}

using Names = std::set<std::string>;

// Two passes that wait for nothing but their stream.
const std::string kTwo =
    "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n"
    "0,0,0,1,forward-compute,0,1,0,0,0,0\n"
    "0,0,0,1,forward-compute,1,1,1,0,1,0\n";

Replay two_passes(const std::string& dependencies) {
  return {read_measured_trace(CsvTable::from_text(kTwo, "trace.csv")),
          read_step_graph(CsvTable::from_text(dependencies, "deps.csv"),
                          CsvTable::from_text("group,op,across_dp\n", "groups.csv"))};
}

}  // namespace

TEST_CASE("passes of chunks are told apart by their part of the model, transfers by their number") {
  const StepGraph graph = derive_step_graph(read_measured_trace(small_table(2)));
  CHECK(graph.operations.size() == 8 + 12);
  CHECK(before(graph, "forward-compute_0_0").empty());
  CHECK(before(graph, "forward-compute_0_2") == Names{"forward-compute_0_0", "forward-recv_0_0"});
  CHECK(before(graph, "forward-recv_0_0") == Names{"forward-compute_0_0"});
  CHECK(before(graph, "forward-recv_1_1") == Names{"forward-compute_0_1", "forward-recv_0_1"});
  CHECK(before(graph, "forward-send_1_0") == Names{"forward-compute_0_2", "forward-send_0_0"});
  // The first tasks of the backward direction wait for the last forward pass but one.
  CHECK(before(graph, "backward-recv_0_0") == Names{"forward-compute_0_0"});
  CHECK(before(graph, "backward-send_0_1") == Names{"backward-compute_0_3", "forward-compute_0_1"});
  REQUIRE(graph.groups.size() == 6);
  for (const OperationGroup& group : graph.groups) {
    CHECK(group.members.size() == 2);
    CHECK(!group.across_data);
  }
}

TEST_CASE("what a table of dependencies leaves open may happen at the same time") {
  CHECK(two_passes("op,depends_on\nforward-compute_1_0,forward-compute_0_0\nforward-compute_0_0,\n").mean_time_s({}) ==
        2);
  CHECK(two_passes("op,depends_on\nforward-compute_1_0,\nforward-compute_0_0,\n").mean_time_s({}) == 1);
}

TEST_CASE("a group begins when the last of it is ready, across data ranks if it says so") {
  std::string trace = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";
  for (const int data : {0, 1}) {
    const std::string rank = std::to_string(data) + ",0," + std::to_string(data) + ",1,";
    trace += rank + "backward-compute,0," + std::to_string(1 + data) + ",0,0,0,0\n";
    trace +=
        rank + "grads-reduce-scatter," + std::to_string(1 + data) + "," + (data == 0 ? "1.5" : "0.5") + ",0,0,-1,-1\n";
    trace += rank + "optimizer," + (data == 0 ? "2.5,0.25" : "2.5,0.5") + ",0,-1,-1,-1\n";
  }
  const std::string dependencies =
      "op,depends_on\ngrads-reduce-scatter_0_0,backward-compute_0_0\noptimizer_0_0,grads-reduce-scatter_0_0\n";
  const auto seconds = [&](const char* across) {
    const Replay replay(
        read_measured_trace(CsvTable::from_text(trace, "trace.csv")),
        read_step_graph(
            CsvTable::from_text(dependencies, "deps.csv"),
            CsvTable::from_text(std::string("group,op,across_dp\n0,grads-reduce-scatter_0_0,") + across + "\n",
                                "groups.csv")));
    return replay.mean_time_s({});
  };
  CHECK(seconds("1") == 3);  // 2 s of the slower pass, 0.5 s together, 0.5 s
  CHECK(seconds("0") == 3);  // 2 s, 0.5 s, 0.5 s on data rank 1; 1 s, 1.5 s, 0.25 s on data rank 0
}

TEST_CASE("several recorded ranks of a stage each replay by themselves") {
  std::string trace = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";
  for (const int rank : {0, 1, 2, 3}) {
    trace += "0," + std::to_string(rank / 2) + "," + std::to_string(rank) + ",1,forward-compute," +
             (rank < 2 ? "0," : "2,") + std::to_string(1 + rank % 2) + ",0,0,0," + std::to_string(rank / 2) + "\n";
  }
  MeasuredTrace read = read_measured_trace(CsvTable::from_text(trace, "trace.csv"));
  CHECK(read.peers == 2);
  const Replay replay(
      std::move(read),
      read_step_graph(CsvTable::from_text("op,depends_on\nforward-compute_0_1,forward-compute_0_0\n", "d.csv"),
                      CsvTable::from_text("group,op,across_dp\n", "g.csv")));
  CHECK(replay.mean_time_s({}) == 4);  // of the slower peers
}
