// A prediction of a few tasks against a recording of a few kernels: what both sides take, and what one does not know.
#include "trace/recording_comparison.hpp"
#include "support/source_root.hpp"

#include "recording/kineto.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace mirfak;

namespace {

// Rank 0: a product of 3 s, and a collective of 2 s of which the last one is exposed.
TraceFile prediction() {
  TraceFile trace;
  trace.name = "p.h5";
  trace.iteration_time_s = 5;
  trace.rank = {0, 0};
  trace.stream = {0, 1};
  trace.stream_names = {"compute", "data"};
  trace.kind = {0, 1};
  trace.kind_names = {"kernel", "collective"};
  trace.task_name = {0, 1};
  trace.task_names = {"qkv", "reduce gradients"};
  trace.start_s = {0, 2};
  trace.end_s = {3, 4};
  return trace;
}

const KernelClasses& classes() {
  static const KernelClasses read = KernelClasses::from_file(source_root() + "/hw_profiles/kernel_classes.yaml");
  return read;
}

const RecordedAgainst& row(const std::vector<RecordedAgainst>& rows, const std::string& name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& each) { return each.name == name; });
  REQUIRE(found != rows.end());
  return *found;
}

}  // namespace

TEST_CASE("a prediction beside a recording: classes, streams, and a path that adds up") {
  const std::string text = R"({"distributedInfo": {"rank": 0}, "traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 4000000},
    {"ph": "X", "cat": "kernel", "name": "sgemm", "ts": 0, "dur": 2000000, "args": {"stream": 7}},
    {"ph": "X", "cat": "kernel", "name": "ncclKernel", "ts": 1500000, "dur": 1000000, "args": {"stream": 9}}]})";
  const RecordingComparison out =
      compare_with_recording(prediction(), read_kineto_text(text, "t.json", classes()), classes());
  CHECK(out.rank_is_said);
  CHECK(out.iteration.measured_s.value() == doctest::Approx(4));
  CHECK(row(out.classes, "gemm").predicted_s.value() == doctest::Approx(3));
  CHECK(row(out.classes, "gemm").measured_s.value() == doctest::Approx(2));
  CHECK(row(out.classes, "communication").predicted_s.value() == doctest::Approx(2));
  CHECK(row(out.classes, "communication").measured_s.value() == doctest::Approx(1));
  CHECK_FALSE(row(out.streams, "recorded: stream 9").predicted_s);
  double predicted = 0;
  double measured = 0;
  for (const RecordedAgainst& part : out.path) {
    predicted += part.predicted_s.value();
    measured += part.measured_s.value();
  }
  CHECK(predicted == doctest::Approx(5));
  CHECK(measured == doctest::Approx(4));
  CHECK(row(out.path, "exposed communication").predicted_s.value() == doctest::Approx(1));
  CHECK(row(out.path, "exposed communication").measured_s.value() == doctest::Approx(0.5));
}
