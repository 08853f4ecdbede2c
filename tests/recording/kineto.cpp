// Traces as small texts: what is read of them, and what is refused, with its place.
#include "recording/kineto.hpp"

#include "base/error.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <string>

namespace kineto_test {

using namespace mirfak;

namespace {

const KernelClasses& classes() {
  static const KernelClasses read = KernelClasses::from_file(source_root() + "/hw_profiles/kernel_classes.yaml");
  return read;
}

Recording read(const std::string& events) {
  return read_kineto_text("{\"traceEvents\": [\n" + events + "\n]}", "t.json", classes());
}

std::string kernel(const std::string& name, const std::string& rest) {
  return R"({"ph": "X", "cat": "kernel", "name": ")" + name + "\", " + rest + "}";
}

std::string refusal(const std::string& text) {
  try {
    read_kineto_text(text, "t.json", classes());
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.where().text() + ": " + error.message();
  }
  return "not refused";
}

}  // namespace

TEST_CASE("times are exact, with a base time or without, integers or not") {
  const Recording recording = read(kernel("a", R"("ts": 1683564901548726, "dur": 3)") + "," +
                                   kernel("b", R"("ts": 1683564901548730.125, "dur": 2.5)"));
  REQUIRE(recording.kernels.size() == 2);
  CHECK(recording.kernels[0].start == 1683564901548726000);
  CHECK(recording.kernels[1].start == 1683564901548730125);
  CHECK(recording.kernels[1].duration() == 2500);
}

TEST_CASE("a kernel belongs to the step and to the operator in which the host launched it") {
  const Recording recording = read(
      R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 0, "dur": 100},
         {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1, "ts": 10, "dur": 50},
         {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 20, "dur": 30,
          "args": {"Input Dims": [[8, 4], [4, 2]], "Input type": ["float", "float"]}},
         {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 25, "dur": 4,
          "args": {"correlation": 7}},)" +
      kernel("sgemm", R"("ts": 200, "dur": 10, "args": {"correlation": 7, "stream": 9})"));
  REQUIRE(recording.kernels.size() == 1);
  const RecordedKernel& kernel = recording.kernels.front();
  CHECK(kernel.step == 0);
  CHECK(kernel.stream == 9);
  CHECK(recording.class_of(kernel).name == "gemm");
  REQUIRE(kernel.operator_ >= 0);
  const RecordedOperator& by = recording.operators[static_cast<std::size_t>(kernel.operator_)];
  CHECK(by.name == "aten::mm");
  CHECK(by.shape == "[[8,4],[4,2]]");
  CHECK(by.types == "[\"float\",\"float\"]");
}

TEST_CASE("a trace may be the list of events itself") {
  const Recording recording = read_kineto_text("[" + kernel("a", R"("ts": 1, "dur": 3)") + "]", "t.json", classes());
  CHECK(recording.kernels.size() == 1);
}

TEST_CASE("what is no trace is refused at its place") {
  CHECK(refusal("") == "t.json:1:1: bad JSON: The document is empty.");
  CHECK(refusal("{}") == "t.json: the file has no list traceEvents");
  CHECK(refusal("{\"traceEvents\": [\n  3]}").find("t.json:2:") == 0);
  CHECK(refusal("{\"traceEvents\": [\n{\"ph\": \"X\", \"name\": \"a\", \"ts\": \"soon\"}]}")
            .find("the event 'a' has ts 'soon': expected microseconds") != std::string::npos);
  CHECK(refusal("{\"traceEvents\": [\n{\"ph\": \"X\",").find("t.json:2:") == 0);
  CHECK(refusal("{\"traceEvents\": []}") == "t.json: no kernel of a GPU is recorded");
  CHECK(refusal("{\"a\": " + std::string(100, '[')).find("nested deeper than 64 levels") != std::string::npos);
  CHECK(refusal("{\"traceEvents\": [" + kernel("a", R"("ts": 99999999999999999999, "dur": 1)") + "]}")
            .find("expected microseconds") != std::string::npos);
}

}  // namespace kineto_test
