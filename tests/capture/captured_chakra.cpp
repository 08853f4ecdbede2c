// A capture written as Chakra execution traces, and replayed: the same step, to the picosecond.
#include "capture/captured_chakra.hpp"

#include "base/error.hpp"
#include "capture/capture_simulation.hpp"
#include "capture_texts.hpp"
#include "captured_parts.hpp"
#include "chakra/chakra_file.hpp"
#include "chakra/chakra_replay.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace captured_chakra_test {

namespace {

CapturedScenario scenario_of(const std::filesystem::path& capture, const std::string& more = "") {
  return read_captured_scenario(
      Document::from_text(
          "capture: " + capture.string() + "\ncluster: {nodes: [{type: hgx-h100, count: 1}]" + more + "}\n",
          "job.yaml"),
      sources());
}

CapturedScenario committed(const std::string& name) {
  return scenario_of(source_root() +
                     (name == "ddp" || name == "compiled" ? "/tests/capture/programs/" : "/scenarios/capture/") + name +
                     ".capture");
}

// A scenario of a capture that the text says.
CapturedScenario of_text(const ScratchFolder& folder, const std::string& text) {
  std::ofstream(folder.path() / "job.capture", std::ios::binary) << text;
  return scenario_of(folder.path() / "job.capture");
}

// The files that `scenario` becomes, replayed.
struct Written {
  ScratchFolder folder;
  std::vector<std::string> notes;
  std::vector<std::string> files;

  explicit Written(const CapturedScenario& scenario, const std::vector<int>& ranks = {}) {
    notes = write_chakra(folder.path() / "step", scenario, sources(), ranks, {});
    for (const std::string& file : folder.files()) {
      if (file.ends_with(".et")) files.push_back((folder.path() / file).string());
    }
  }
  ChakraReplay replayed() const { return replay_chakra(files, std::nullopt); }
  nlohmann::json groups() const {
    return nlohmann::json::parse(std::ifstream(folder.path() / "step.comm_groups.json"));
  }
};

const std::string kSum =
    R"({"name":"aten::add","overload":"Tensor","arguments":[["self",1],["other",1]],"in":[["bfloat16",[67108864]],)"
    R"(["bfloat16",[67108864]]],"out":[["bfloat16",[67108864]]],"settings":{},"read_bytes":268435456,)"
    R"("written_bytes":134217728})";
const std::string kGather =
    R"({"kind":"all_gather_into_tensor","ranks":[0,1],"dtype":"float32","via":"c10d","in_bytes":1000000,)"
    R"("out_bytes":2000000})";
// Kernels on two streams share the GPU, and communication with them.
const std::string kTwoStreams =
    R"([["op",0,0,0,0],["record",1,0],["op",0,0,0,7],["comm",0,0,0,0,1],["op",0,0,0,0],["wait",1,7],["op",0,0,0,7]])";

}  // namespace

TEST_CASE("a replay of a capture's traces takes the captured step's time, to the picosecond") {
  for (const char* name : {"fsdp", "pipeline", "attention", "ddp", "compiled"}) {
    CAPTURE(name);
    const CapturedScenario scenario = committed(name);
    const CaptureSimulation simulation = simulate(scenario, sources());
    const Written written(scenario);
    CHECK(written.notes.empty());
    CHECK(written.files.size() == scenario.capture->ranks.size());
    const ChakraReplay replay = written.replayed();
    CHECK(replay.joined.notes.empty());
    CHECK(replay.timeline.makespan == simulation.executed.timeline.makespan);
  }
}

TEST_CASE("streams that share a GPU replay as they ran, and a slow rank's step does, too") {
  const ScratchFolder folder;
  const std::string text = capture_text_of(kSum, kGather, {kTwoStreams, kTwoStreams});
  const CapturedScenario scenario = of_text(folder, text);
  const Timeline& ran = simulate(scenario, sources()).executed.timeline;
  const Written written(scenario);
  CHECK(written.replayed().timeline.makespan == ran.makespan);
  const CapturedScenario slow =
      scenario_of(folder.path() / "job.capture", ", perturbations: {ranks: [{rank: 1, compute: 1.7}]}");
  const Timeline slowed = simulate(slow, sources()).executed.timeline;
  REQUIRE(slowed.makespan > ran.makespan);
  CHECK(Written(slow).replayed().timeline.makespan == slowed.makespan);
}

TEST_CASE("nodes say what the capture says: bytes, groups, streams, what they wait for") {
  const ScratchFolder folder;
  const CapturedScenario scenario = of_text(folder, capture_text_of(kSum, kGather, {kTwoStreams, kTwoStreams}));
  const Written written(scenario);
  CHECK(written.groups() == nlohmann::json({{"0,1", {0, 1}}}));
  const ChakraTrace trace = read_chakra_trace(written.files.front());
  const auto find = [&](ChakraNodeKind kind, bool on_host) {
    return *std::find_if(trace.nodes.begin(), trace.nodes.end(),
                         [&](const ChakraNode& node) { return node.kind == kind && node.on_host == on_host; });
  };
  const ChakraNode sum = find(ChakraNodeKind::compute, false);
  CHECK(sum.name == "aten::add");
  CHECK(sum.tensor_bytes == 3 * 134217728.0);
  CHECK(sum.stream == "cuda 0");
  const ChakraNode gather = find(ChakraNodeKind::collective, false);
  CHECK(gather.collective == ChakraCollective::all_gather);
  CHECK(gather.bytes == 1e6);  // the part of one rank
  CHECK(gather.group == "0,1");
  // The last kernel of stream 7 waits for the kernel before it, for communication and for the host.
  CHECK(trace.nodes.back().data_dependencies.size() == 3);
  CHECK(std::count(trace.nodes.back().data_dependencies.begin(), trace.nodes.back().data_dependencies.end(),
                   gather.id) == 1);
  const Written pipeline(committed("pipeline"));
  std::vector<ChakraNodeKind> messages;
  for (const ChakraNode& node : read_chakra_trace(pipeline.files[0]).nodes) {
    if (node.peer) messages.push_back(node.kind);
    if (node.peer) CHECK(*node.peer == 1);
  }
  CHECK(messages == std::vector{ChakraNodeKind::send, ChakraNodeKind::receive});
}

TEST_CASE("ranks to write are those that are asked for, of the capture") {
  const CapturedScenario scenario = committed("fsdp");
  CHECK(Written(scenario, {1}).files.size() == 1);
  try {
    const Written written(scenario, {0, 5});
    FAIL("not refused");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(std::string(error.message()) == "rank 5 is not in the capture, which has 2 of 2 ranks");
  }
  // A world of two of which one was captured: its trace, and a note on the other.
  const ScratchFolder folder;
  const std::string text = capture_text_of(kSum, kGather, {kTwoStreams, kTwoStreams});
  const CapturedScenario half = of_text(folder, with_end(text.substr(0, text.find("{\"rank\":1"))));
  const Written written(half);
  REQUIRE(written.notes.size() == 1);
  CHECK(written.notes[0].find("1 of 2 ranks are not in the capture and have no trace") != std::string::npos);
  CHECK(written.replayed().timeline.makespan == simulate(half, sources()).executed.timeline.makespan);
}

}  // namespace captured_chakra_test
