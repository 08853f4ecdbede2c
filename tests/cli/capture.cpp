// mirfak simulate for a capture: text, JSON, CSV, a timeline; what it refuses.

#include "program.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace capture_test {

using namespace mirfak::test;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string kCapture = "scenarios/capture/fsdp.capture";

Finished simulated(std::vector<std::string> more, const std::string& capture = kCapture) {
  std::vector<std::string> words{"simulate", capture, "--nodes", "hgx-h100:1"};
  words.insert(words.end(), more.begin(), more.end());
  return run(words);
}

}  // namespace

TEST_CASE("a capture is simulated: times add up in text and JSON") {
  const Finished text = simulated({});
  REQUIRE(text.status == 0);
  for (const char* part : {"ranks     2 of 2 captured", "Iteration", "Where the time of a GPU goes",
                           "Peak memory of a GPU", "Operators of rank", "Modules of rank", "all_gather_into_tensor"}) {
    CAPTURE(part);
    CHECK(has(text.out, part));
  }
  const Finished printed = simulated({"--format", "json"});
  REQUIRE(printed.status == 0);
  const nlohmann::json out = nlohmann::json::parse(printed.out);
  double parts = 0;
  for (const auto& [key, value] : out["activities"].items()) parts += value.get<double>();
  CHECK(parts == doctest::Approx(out["iteration_time_s"].get<double>()));
  CHECK(out["world_size"] == 2);
  CHECK(out["fits"] == true);
  CHECK(out["ranks"].size() == 2);
  CHECK(out["operators"][0]["seconds"].get<double>() > 0);
  CHECK(out.contains("data_hash"));
  const Finished table = simulated({"--format", "csv"});
  CHECK(table.status == 0);
  CHECK(table.out.starts_with("seconds,share,calls,name,phase,module,tensors"));
}

TEST_CASE("a timeline and an explanation of a capture; another GPU, a lower clock") {
  const ScratchFolder folder;
  const Finished drawn = simulated({"--timeline", (folder.path() / "t.json").string(), "--explain"});
  REQUIRE(drawn.status == 0);
  CHECK(has(drawn.out, "for each operator dispatched"));
  CHECK(has(read_text(folder.path() / "t.json"), "fsdp::chunk_cat"));
  const auto time = [](const Finished& finished) {
    REQUIRE(finished.status == 0);
    return nlohmann::json::parse(finished.out)["activities"]["gemm_s"].get<double>();
  };
  const double full = time(simulated({"--format", "json"}, "scenarios/capture/attention.capture"));
  CHECK(time(simulated({"--format", "json", "--set", "cluster.nodes[0].clock_mhz=990"},
                       "scenarios/capture/attention.capture")) > full);
}

TEST_CASE("what makes no sense for a capture is refused") {
  CHECK(has(run({"simulate", kCapture}).err, "give --nodes TYPE:COUNT"));
  CHECK(has(simulated({"--samples", "3"}).err,
            "--samples is of scenarios, and scenarios/capture/fsdp.capture is a capture"));
  CHECK(has(simulated({"--set", "cluster.price=spot"}).err, "cluster.price: this key has no effect on a capture"));
  CHECK(has(simulated({"--set", "training.precision=fp8"}).err, "training"));
  CHECK(has(simulated({"--explain", "--format", "json"}).err, "--explain prints text"));
  const Finished crossed = simulated({}, "scenarios/capture/deadlock.capture");
  CHECK(crossed.status == 2);
  CHECK(has(crossed.err, "ranks wait for each other"));
}

}  // namespace capture_test
