// Measurements, from files to printed words: recorded steps that are replayed, recordings that are told.

#include "program.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>

using namespace mirfak::test;
using nlohmann::json;

namespace {

json printed(const ScratchFolder& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--format", "json"});
  const Finished finished = run({arguments, folder.path()});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  return json::parse(finished.out);
}

// Two data ranks of one stage; in the second step the second one's forward pass takes a second longer.
std::string recorded_steps() {
  std::string out = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";
  for (const int step : {7, 8}) {
    for (const int data : {0, 1}) {
      const int forward = step == 8 && data == 1 ? 2 : 1;
      out += fmt::format("{0},0,{0},{1},forward-compute,0,{2},0,0,0,0\n", data, step, forward);
      out += fmt::format("{0},0,{0},{1},backward-compute,{2},2,0,0,0,0\n", data, step, forward);
    }
  }
  return out;
}

// Steps of a rank, 10 ms each, with two products of 1 ms.
std::string recording() {
  std::string out = "{\"traceEvents\": [";
  for (int step = 0; step < 4; ++step) {
    out += fmt::format(
        R"({}{{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{}", "pid": 1, "tid": 1, "ts": {}, "dur": 10000}})",
        step > 0 ? "," : "", step, 10000 * step);
    for (int place = 0; place < 2; ++place) {
      const int number = 2 * step + place;
      out += fmt::format(
          R"(,{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": {}, "dur": 4, "args": {{"correlation": {}}}}})",
          10000 * step + 10 * place, number);
      out += fmt::format(
          R"(,{{"ph": "X", "cat": "kernel", "name": "sgemm", "ts": {}, "dur": 1000, "args": {{"correlation": {}, "stream": 7}}}})",
          10000 * step + 100 + 2000 * place, number);
    }
  }
  return out + "]}";
}

}  // namespace

TEST_CASE("recorded steps are replayed, also with what would be different") {
  const ScratchFolder folder;
  folder.write("steps.csv", recorded_steps());
  const json result = printed(folder, {"replay", "steps.csv"});
  CHECK(result.at("mean_replayed_s") == 3.5);
  CHECK(result.at("steps").at(1).at("replayed_s") == 4);
  CHECK(result.at("notes").size() == 1);
  const json asked = printed(folder, {"replay", "steps.csv", "--speed", "data=1:2"});
  CHECK(asked.at("mean_what_if_s") == 3);
  CHECK(asked.at("what_if") == "data=1 2 times as fast");
}

TEST_CASE("a recording is told: its steps, and where the time of the GPU goes") {
  const ScratchFolder folder;
  folder.write("recording.json", recording());
  const json result = printed(folder, {"trace", "recording.json"});
  const json& only = result.at("recordings").at(0);
  CHECK(only.at("kernels") == 8);
  CHECK(only.at("busy_s").get<double>() == doctest::Approx(0.008));
  CHECK(only.at("steps").size() == 4);
  CHECK(only.at("classes").at(0).at("name") == "gemm");
  const Finished text = run(Invocation{{"trace", "recording.json"}, folder.path()});
  REQUIRE_MESSAGE(text.status == 0, text.err);
  CHECK(text.out.find("8 kernels, 0 copies") != std::string::npos);
  CHECK(text.out.find("gemm") != std::string::npos);
  CHECK(text.out == run({{"calibrate", "--trace", "recording.json"}, folder.path()}).out);
  const Finished refused = run(Invocation{{"validate", "recording.json"}, folder.path()});
  CHECK(refused.status == 2);
  CHECK(refused.err.find("mirfak trace 'recording.json' shows what ran") != std::string::npos);
  CHECK(refused.err.find("mirfak validate predicted.h5 'recording.json' compares") != std::string::npos);
}
