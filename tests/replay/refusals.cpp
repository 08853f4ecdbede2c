// Faults in a trace, a graph or durations are said where they stand.

#include "base/failure.hpp"
#include "replay/derived_graph.hpp"
#include "replay/straggler_analysis.hpp"
#include "small_trace.hpp"

#include <string>

using namespace mirfak;
using namespace mirfak::test;

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string refused_trace(const std::string& text) {
  return failure_of([&] {
    MeasuredTrace trace = read_measured_trace(CsvTable::from_text(text, "trace.csv"));
    StepGraph graph = derive_step_graph(trace);
    const Replay replay(std::move(trace), std::move(graph));
  });
}

std::string refused_graph(const std::string& dependencies, const std::string& groups = "group,op,across_dp\n") {
  const std::string trace =
      "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n"
      "0,0,0,1,forward-compute,0,1,0,0,0,0\n"
      "0,0,0,1,backward-compute,1,1,0,0,0,0\n";
  return failure_of([&] {
    const Replay replay(
        read_measured_trace(CsvTable::from_text(trace, "trace.csv")),
        read_step_graph(CsvTable::from_text(dependencies, "deps.csv"), CsvTable::from_text(groups, "groups.csv")));
  });
}

void check_says(const std::string& said, const std::string& part) {
  INFO(said);
  CHECK(contains(said, part));
}

}  // namespace

TEST_CASE("traces that cannot be are refused with the place") {
  const std::string trace = small_trace(2);
  check_says(refused_trace(replaced(trace, "forward-compute,0,1", "forward-compute,0,-1")),
             "trace.csv:2:27: duration: expected a number from 0");
  check_says(refused_trace(replaced(trace, "forward-compute,0,1", "forwrd-compute,0,1")),
             "trace.csv:2:9: optype: unknown operation 'forwrd-compute'\n  did you mean 'forward-compute'?");
  check_says(refused_trace(replaced(trace, "1,1,3,7,", "1,1,2,7,")),
             "rank 2 is here on stage 1 of data rank 1, in line");
  check_says(refused_trace(replaced(trace, "optype", "type")), "trace.csv:1:1: the table has no column 'optype'");
  check_says(refused_trace(trace.substr(0, trace.find('\n') + 1)), "trace.csv:1:1: the trace has no operations");
  const std::size_t last = trace.rfind('\n', trace.size() - 2);
  check_says(refused_trace(trace.substr(0, last + 1)), "step 7 of data rank 1 lacks backward-compute_0_0 in trace.csv");
  check_says(refused_trace(trace + trace.substr(last + 1)), "stands in line 41 already");
  check_says(refused_trace(replaced(trace, "0,0,0,7,forward-send,1,0.25,0", "0,0,0,7,gc,1,0.25,0")),
             "stage 0 has 1 transfers on its stream send_forward in step 7, for 2 passes");
}

TEST_CASE("graphs that cannot be, or do not fit, are refused with the place") {
  const std::string header = "op,depends_on\n";
  check_says(
      refused_graph(header + "forward-compute_0_0,backward-compute_0_0\nbackward-compute_0_0,forward-compute_0_0\n"),
      "deps.csv:2:1: operations wait for each other: forward-compute_0_0 waits for backward-compute_0_0 waits for "
      "forward-compute_0_0");
  check_says(refused_graph(header + "backward-compute_0_0,forward-compute_0_0\n",
                           "group,op,across_dp\n0,backward-compute_0_0,0\n0,forward-compute_0_0,0\n"),
             "operations wait for each other");
  check_says(refused_graph(header + "forward-compute_0_0,\nbackward-compute_0_0,forward-compute_1_0\n"),
             "deps.csv:3:22: step 1 of data rank 0 lacks forward-compute_1_0 in trace.csv");
  check_says(refused_graph(header + "forward-compute_0_0,\n"),
             "trace.csv:3:1: backward-compute_0_0 is not in the graph of dependencies");
  check_says(refused_graph(header + "compute_0_0,\n"), "deps.csv:2:1: unknown operation 'compute'");
  check_says(refused_graph(header + "forward-compute,\n"), "deps.csv:2:1: op: expected an operation such as");
  check_says(refused_graph(header + "forward-compute_0_0,\n", "group,op,across_dp\n0,gc_0_0,0\n"),
             "groups.csv:2:3: op: gc_0_0 is not in deps.csv");
  const std::string both = header + "backward-compute_0_0,forward-compute_0_0\n";
  check_says(refused_graph(both + "gc_0_0,\n", "group,op,across_dp\n0,gc_0_0,1\n"),
             "groups.csv:2:3: step 1 of data rank 0 lacks gc_0_0");
  check_says(refused_graph(both, "group,op,across_dp\n0,forward-compute_0_0,1\n1,forward-compute_0_0,1\n"),
             "groups.csv:3:3: op: forward-compute_0_0 is in a group already, in line 2");
  check_says(refused_graph(both, "group,op,across_dp\n0,forward-compute_0_0,1\n0,backward-compute_0_0,0\n"),
             "groups.csv:3:24: across_dp: group 0 has another value above");
}

TEST_CASE("durations without stragglers that do not fit are refused") {
  const auto refused = [](const std::string& text) {
    return failure_of([&] {
      MeasuredTrace trace = read_measured_trace(small_table());
      StepGraph graph = derive_step_graph(trace);
      const Replay replay(std::move(trace), std::move(graph),
                          read_ideal_durations(CsvTable::from_text(text, "ideal.csv")));
    });
  };
  check_says(refused("optype,ideal_s\nforward-compute,1\n"), "the durations without stragglers lack backward-compute");
  check_says(refused("optype,ideal_s\nforward,1\n"), "ideal.csv:2:1: unknown operation 'forward'");
  check_says(refused("optype,ideal_s\ngc,-1\n"), "ideal.csv:2:4: ideal_s: expected a number from 0");
  check_says(refused("optype,ideal_s\ngc,1\ngc,1\n"), "ideal.csv:3:1: optype: gc has a duration already");
}

TEST_CASE("steps that no clock of the engine can hold are refused") {
  check_says(refused_trace(replaced(small_trace(), "forward-compute,0,1", "forward-compute,0,1e7")),
             "expected a number");
  std::string trace = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";
  for (int i = 0; i < 10; ++i) {
    trace += "0,0,0,1,forward-compute," + std::to_string(i) + ",900000," + std::to_string(i) + ",0," +
             std::to_string(i) + ",0\n";
  }
  check_says(refused_trace(trace), "more than 100 days");
}
