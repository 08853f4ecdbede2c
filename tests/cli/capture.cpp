// mirfak simulate for a capture: text, JSON, CSV, a timeline; what it refuses.

#include "program.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
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

TEST_CASE("a page of a capture,") {
  const ScratchFolder folder;
  const std::string page = (folder.path() / "step.html").string();
  const Finished written = simulated({"--report", page});
  REQUIRE(written.status == 0);
  CHECK(written.out == simulated({}).out);
  const std::string text = read_text(page);
  for (const char* part :
       {"Operators of rank", "all_gather_into_tensor", "\"kind\":\"capture\"", "\"label\":\"rank 1\""}) {
    CAPTURE(part);
    CHECK(has(text, part));
  }
  const Finished crossed = simulated({"--report", page}, "scenarios/capture/deadlock.capture");
  CHECK(crossed.status == 2);
  CHECK(read_text(page) == text);
}

TEST_CASE("a trace of a capture is compared with a recording by classes of kernels") {
  const ScratchFolder folder;
  const std::string trace = (folder.path() / "step.h5").string();
  REQUIRE(simulated({"--trace", trace}, "scenarios/capture/attention.capture").status == 0);
  folder.write("t.json",
               R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "nvjet_tst_128x256", "ts": 1, "dur": 40},)"
               R"({"ph": "X", "cat": "kernel", "name": "flash_fwd_kernel", "ts": 50, "dur": 9}]})");
  const std::string recording = (folder.path() / "t.json").string();
  const Finished compared = run({"validate", trace, recording, "--format", "json"});
  REQUIRE(compared.status == 0);
  const nlohmann::json out = nlohmann::json::parse(compared.out);
  std::map<std::string, nlohmann::json> classes;
  for (const nlohmann::json& row : out["classes"]) classes[row["name"]] = row;
  REQUIRE(classes.contains("gemm"));
  CHECK(classes["gemm"]["measured"] == doctest::Approx(40e-6));
  CHECK(classes["gemm"]["predicted"].get<double>() > 0);
  CHECK(classes["attention"]["predicted"].get<double>() > 0);
  for (const auto& row : classes) CHECK_FALSE(has(row.first, "aten::"));
  const Finished twice = run({"validate", trace, trace});
  CHECK(twice.status == 2);
  CHECK(has(twice.err, "was not measured"));
}

TEST_CASE("draws of a capture's perturbations, and what more of each resource gains") {
  const ScratchFolder folder;
  const std::string named = (folder.path() / "job.yaml").string();
  folder.write("job.yaml", "capture: " + kCapture +
                               "\ncluster: {nodes: [{type: hgx-h100, count: 1}], perturbations: {jitter: {compute: "
                               "{lognormal: {sigma: 0.1}}, host: {lognormal: {sigma: 0.1}}}}}\n");
  const Finished drawn = run({"simulate", named, "--samples", "50", "--format", "json"});
  REQUIRE(drawn.status == 0);
  const nlohmann::json spread = nlohmann::json::parse(drawn.out)["spread"];
  CHECK(spread["samples"] == 50);
  CHECK(spread["p50"]["value_s"] <= spread["p95"]["value_s"]);
  CHECK(spread["deviation_s"].get<double>() > 0);
  CHECK_FALSE(spread["ranks"][0].contains("stage"));
  CHECK(has(run({"simulate", named, "--samples", "50"}).out, "Spread of 50 iterations"));
  CHECK(has(run({"simulate", named}).out, "its distributions are left out: --samples draws them"));
  const Finished nothing = simulated({"--samples", "3"});
  CHECK(nothing.status == 3);
  CHECK(has(nothing.err, "cluster.perturbations draws nothing"));
  const Finished gains =
      simulated({"--sensitivity", "--factor", "2", "--format", "json"}, "scenarios/capture/attention.capture");
  REQUIRE(gains.status == 0);
  const nlohmann::json more = nlohmann::json::parse(gains.out)["sensitivity"];
  CHECK(more["factor"] == 2);
  CHECK(more["resources"][0]["gained_s"].get<double>() > 0);
  const Finished table = simulated({"--sensitivity", "--format", "csv"});
  CHECK(has(table.out, "host speed of hgx-h100"));
}

TEST_CASE("a capture is written as Chakra traces, which are replayed") {
  const ScratchFolder folder;
  const std::string prefix = (folder.path() / "step").string();
  const Finished written = simulated({"--chakra", prefix, "--format", "json"});
  REQUIRE(written.status == 0);
  const Finished replayed = run({"replay", prefix + ".0.et", prefix + ".1.et", "--format", "json"});
  REQUIRE(replayed.status == 0);
  CHECK(nlohmann::json::parse(replayed.out)["iteration_time_s"] ==
        nlohmann::json::parse(written.out)["iteration_time_s"]);
  CHECK(has(simulated({"--chakra", prefix, "--chakra-ranks", "7"}).err, "rank 7 is not in the capture"));
  CHECK(has(simulated({"--chakra-ranks", "1"}).err, "--chakra-ranks says which ranks to write"));
}

TEST_CASE("a scenario that names a capture says what its short form says") {
  const ScratchFolder folder;
  const std::string named = (folder.path() / "job.yaml").string();
  folder.write("job.yaml", "capture: " + kCapture + "\ncluster: {nodes: [{type: hgx-h100, count: 1}]}\n");
  const auto json = [](const Finished& finished) {
    REQUIRE(finished.status == 0);
    nlohmann::json out = nlohmann::json::parse(finished.out);
    out.erase("wall_time_s");
    out.erase("capture");
    return out;
  };
  const nlohmann::json of_scenario = json(run({"simulate", named, "--format", "json"}));
  CHECK(of_scenario == json(simulated({"--format", "json"})));
  CHECK(of_scenario["energy_j"].get<double>() > 0);
  CHECK(of_scenario["cost_usd_per_iteration"].get<double>() > 0);
  CHECK_FALSE(of_scenario.contains("mfu"));
  for (const char* part : {"energy", "cost", "of 2 GPUs", "note: 6 of 8 GPUs have no rank"}) {
    CHECK(has(run({"simulate", named}).out, part));
  }
  CHECK(has(simulated({"--set", "cluster.price=2.5", "--explain"}).out, "the scenario"));
  // A rank that is slower by a tenth, in the committed scenario.
  const nlohmann::json slow = json(run({"simulate", "scenarios/capture/fsdp.yaml", "--format", "json"}));
  CHECK(slow["iteration_time_s"] > of_scenario["iteration_time_s"]);
  CHECK(slow["ranks"].size() == 2);
  const Finished broken = run({"simulate", named, "--set", "assert=[iteration_time_s < 1e-9]"});
  CHECK(broken.status == 4);
  CHECK(has(broken.err, "does not hold"));
}

TEST_CASE("two captures, or one on two clusters: where seconds differ") {
  const Finished text = run({"diff", kCapture, "--nodes", "hgx-h100:1", "--set-b", "cluster.nodes[0].type=hgx-b200"});
  REQUIRE(text.status == 0);
  for (const char* part : {"cluster.nodes[0].type", "Where the time of a GPU goes", "Operators (rank", "Modules:"}) {
    CAPTURE(part);
    CHECK(has(text.out, part));
  }
  const Finished printed =
      run({"diff", kCapture, "scenarios/capture/pipeline.capture", "--nodes", "hgx-h100:1", "--format", "json"});
  REQUIRE(printed.status == 0);
  const nlohmann::json out = nlohmann::json::parse(printed.out);
  double parts = 0;
  for (const auto& [key, value] : out["activities"].items()) parts += value["difference"].get<double>();
  CHECK(parts == doctest::Approx(out["figures"]["iteration_time_s"]["difference"].get<double>()));
  CHECK(out["keys"][0]["key"] == "capture.file");
  CHECK(out["operators"].size() > 1);
  CHECK(std::abs(out["operators"][0]["difference_s"].get<double>()) >=
        std::abs(out["operators"][1]["difference_s"].get<double>()));
  CHECK(run({"diff", kCapture, "--nodes", "hgx-h100:1", "--set-b", "cluster.price=spot", "--format", "csv"})
            .out.starts_with("section,name,a,b,difference\n"));
  const Finished unlike = run({"diff", kCapture, "scenarios/llama2-70b-h100.yaml", "--nodes", "hgx-h100:1"});
  CHECK(unlike.status == 2);
  CHECK(has(unlike.err, "is of a model and a strategy, and is compared with a capture"));
}

TEST_CASE("a sweep over the cluster of a capture") {
  const ScratchFolder folder;
  const std::string out = (folder.path() / "gpus.h5").string();
  const Finished swept = run({"sweep", "scenarios/capture/gpus.yaml", "--out", out, "--format", "json"});
  REQUIRE(swept.status == 0);
  const nlohmann::json said = nlohmann::json::parse(swept.out);
  CHECK(said["points"] == 6);
  CHECK(said["ok"] == 6);
  CHECK(run({"sweep", "scenarios/capture/gpus.yaml", "--out", out, "--resume"}).status == 0);
  CHECK(has(run({"sweep", "scenarios/capture/gpus.yaml", "--out", out + "2"}).out, "dgx-a100-80g"));
  // A fault of the scenario is one of the sweep.
  const std::string wrong = (folder.path() / "wrong.yaml").string();
  folder.write("wrong.yaml", "scenario: {capture: " + kCapture +
                                 ", cluster: {nodes: [{type: hgx-h100, count: 1}]}}\n"
                                 "axes: [{grid: {strategy.tensor: [1, 2]}}]\n");
  const Finished refused = run({"sweep", wrong, "--out", (folder.path() / "w.h5").string()});
  CHECK(refused.status == 2);
  CHECK(has(refused.err, "strategy: this section means nothing next to a capture"));
}

TEST_CASE("a captured program on each of several options") {
  const Finished text = run({"compare", "scenarios/capture/options.yaml"});
  REQUIRE(text.status == 0);
  CHECK(has(text.out, "What does not run"));
  CHECK(has(text.out, "B200: captured for h100, priced on NVIDIA B200"));
  const Finished printed = run({"compare", "scenarios/capture/options.yaml", "--format", "json"});
  REQUIRE(printed.status == 0);
  const nlohmann::json options = nlohmann::json::parse(printed.out)["options"];
  REQUIRE(options.size() == 5);
  for (std::size_t i = 1; i + 1 < options.size(); ++i) {
    CHECK(options[i - 1]["cost_usd_per_iteration"] <= options[i]["cost_usd_per_iteration"]);
  }
  CHECK(options[4]["runs"] == false);  // 40 GB are too few
  CHECK(has(options[4]["reason"].get<std::string>(), "rank 0 needs"));
  CHECK(
      run({"compare", "scenarios/capture/options.yaml", "--format", "csv"}).out.starts_with("option,runs,nodes,gpus,"));
  const ScratchFolder folder;
  folder.write("sized.yaml", "scenario: {capture: " + kCapture +
                                 "}\nsizing: {want: all, deadline_days: 3}\n"
                                 "options: [{name: a, cluster: {nodes: [{type: hgx-h100, count: 1}]}}]\n");
  const Finished refused = run({"compare", (folder.path() / "sized.yaml").string()});
  CHECK(refused.status == 2);
  CHECK(has(refused.err, "nothing says how many the training has"));
}

TEST_CASE("clocks are planned for the passes of a captured pipeline") {
  const std::string capture = "scenarios/capture/stages.capture";
  const json once = json::parse(simulated({"--format", "json"}, capture).out);
  const json frontier =
      json::parse(run({"frontier", capture, "--nodes", "hgx-h100:1", "--straggler", "1.1", "--format", "json"}).out);
  CHECK(frontier.at("t_min_s").get<double>() ==
        doctest::Approx(once.at("iteration_time_s").get<double>()).epsilon(1e-9));
  CHECK(frontier.at("passes") == 64);  // of four stages: eight microbatches, forward and backward
  const Finished refused = run({"frontier", kCapture, "--nodes", "hgx-h100:1"});
  CHECK(refused.status == 3);
  CHECK(has(refused.err, "ranks 0 and 1 wait for each other inside a pass"));
}

TEST_CASE("the power of a captured step over time is a file, and its figures can be asserted") {
  const ScratchFolder folder;
  const std::string file = (folder.path() / "watts.json").string();
  const Finished finished = simulated({"--power", file, "--power-resolution", "1ms", "--format", "json"});
  REQUIRE(finished.status == 0);
  const nlohmann::json out = nlohmann::json::parse(finished.out);
  const double step_s = out["iteration_time_s"].get<double>();
  CHECK(out["power"]["all_gpus"]["mean_w"].get<double>() * step_s ==
        doctest::Approx(out["energy_j"].get<double>()).epsilon(1e-9));
  CHECK(nlohmann::json::parse(read_text(file))["series"][1]["name"] == "gpus_w");
  CHECK(out["power_peak_w"].get<double>() >= out["average_power_w"].get<double>() * (1 - 1e-9));
  const Finished asserted = simulated({"--set", "assert=['power_peak_w < 1']"});
  CHECK(asserted.status == 4);
  CHECK(has(asserted.err, "power_peak_w"));
}

TEST_CASE("what makes no sense for a capture is refused") {
  CHECK(has(run({"simulate", kCapture}).err, "give --nodes TYPE:COUNT"));
  CHECK(
      has(simulated({"--links", "l.svg"}).err,
          "--links means nothing for scenarios/capture/fsdp.capture, which is of a capture: communication of captures "
          "has the links for itself"));
  CHECK(has(simulated({"--env", "A=1"}).err, "--env is of launch files"));
  CHECK(
      has(simulated({"--set", "training.precision=fp8"}).err,
          "training: this section means nothing next to a capture: the program chose batches, lengths and precision"));
  CHECK(has(simulated({"--explain", "--format", "json"}).err, "--explain prints text"));
  for (const char* command : {"search", "train"}) {
    CAPTURE(command);
    const Finished refused = run({command, kCapture, "--nodes", "hgx-h100:1"});
    CHECK(refused.status == 2);
    CHECK(has(refused.err, "a captured program has no model and no strategy"));
  }
  const Finished crossed = simulated({}, "scenarios/capture/deadlock.capture");
  CHECK(crossed.status == 2);
  CHECK(has(crossed.err, "ranks wait for each other"));
}

}  // namespace capture_test
