#include "program.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

using namespace mirfak::test;
using nlohmann::json;

namespace {

const std::string kScenario = "scenarios/gpt3-13b-gpipe-a100.yaml";
const std::string kInterleaved = "scenarios/llama2-70b-h100.yaml";

Finished simulate(const std::string& scenario, std::vector<std::string> options) {
  options.insert(options.begin(), {"simulate", scenario, "--format", "json"});
  return run(options);
}

json result_of(const std::string& scenario, const std::vector<std::string>& options = {}) {
  const Finished finished = simulate(scenario, options);
  REQUIRE(finished.status == 0);
  json result = json::parse(finished.out);
  CHECK(result.at("wall_time_s") > 0);
  CHECK(result.at("wall_time_s") < 600);
  result.erase("wall_time_s");
  return result;
}

}  // namespace

TEST_CASE("two runs give the same figures to the last digit") {
  for (const std::string& scenario : {kScenario, kInterleaved}) {
    CHECK(result_of(scenario).dump() == result_of(scenario).dump());
  }
}

TEST_CASE("the JSON has the keys that programs rely on") {
  const json result = result_of(kInterleaved);
  for (const char* key :
       {"iteration_time_s", "tokens_per_s", "tokens_per_s_per_gpu", "tflops_per_gpu", "mfu", "hfu", "gpus",
        "bubble_fraction", "exposed_communication_s", "memory_peak_bytes", "memory_capacity_bytes", "fits", "energy_j",
        "average_power_w", "cost_usd_per_iteration", "training_time_s", "training_cost_usd", "events"}) {
    CAPTURE(key);
    REQUIRE(result.contains(key));
    CHECK((result.at(key).is_number() || result.at(key).is_boolean()));
  }
  CHECK(result.at("gpus") == 64);
  // 256 sequences of 4096 tokens
  CHECK(result.at("tokens_per_s").get<double>() * result.at("iteration_time_s").get<double>() ==
        doctest::Approx(256 * 4096));
  CHECK(result.at("average_power_w").get<double>() * result.at("iteration_time_s").get<double>() ==
        doctest::Approx(result.at("energy_j").get<double>()));
}

TEST_CASE("what the framework's program refuses is predicted with a note") {
  const json result = result_of("scenarios/llama3-8b-h100-single-node.yaml",
                                {"--set", "training.framework=deepspeed", "--set", "strategy.overlap_param_gather=true",
                                 "--set", "strategy.zero=1", "--set", "strategy.recompute=full"});
  const std::string note =
      "--set strategy.overlap_param_gather=true: strategy.overlap_param_gather: DeepSpeed gathers parameters after the "
      "step; searches leave it out";
  const json& notes = result.at("notes");
  CHECK(std::find(notes.begin(), notes.end(), note) != notes.end());
}

TEST_CASE("a key that changes nothing is noted with its place, in text and JSON") {
  const std::string scenario = "scenarios/llama3-8b-h100-single-node.yaml";
  const std::string note =
      "--set strategy.microbatch_group=4: strategy.microbatch_group: 4 changes nothing in this job";
  const json result = result_of(scenario, {"--set", "strategy.microbatch_group=4"});
  CHECK(result.at("notes") == json::array({note}));
  CHECK(result_of(scenario).at("notes").empty());
  const std::vector<std::vector<std::string>> details = {{"--unfolded"}, {"--detail", "operators"}};
  for (std::vector<std::string> options : details) {
    options.insert(options.end(), {"--set", "strategy.microbatch_group=4"});
    CHECK(result_of(scenario, options).at("notes") == json::array({note}));
  }
  const std::string text = run({"simulate", scenario, "--set", "strategy.microbatch_group=4"}).out;
  CHECK(text.find("Notes\n  " + note + "\n") != std::string::npos);
}

TEST_CASE("every rank simulated, or every kernel: the same iteration time") {
  for (const std::string scenario : {"scenarios/gpt-22b-a100-seqpar.yaml", "scenarios/gpt2-1.5b-v100.yaml",
                                     "scenarios/gpt3-13b-gpipe-a100.yaml", "scenarios/llama2-70b-h100-a100.yaml"}) {
    CAPTURE(scenario);
    const json folded = result_of(scenario);
    const json unfolded = result_of(scenario, {"--unfolded"});
    const json operators = result_of(scenario, {"--detail", "operators"});
    CHECK(unfolded.at("iteration_time_s") == folded.at("iteration_time_s"));
    CHECK(operators.at("iteration_time_s") == folded.at("iteration_time_s"));
    CHECK(unfolded.at("events") >= folded.at("events"));
    CHECK(operators.at("events") > folded.at("events"));
    CHECK(unfolded.at("energy_j").get<double>() == doctest::Approx(folded.at("energy_j").get<double>()));
  }
}

TEST_CASE("an override acts like the key in the file") {
  const ScratchFolder folder;
  std::string text = read_text(mirfak::source_root() + "/" + kScenario);
  const std::string tensor = "tensor: 2";
  const std::string pipeline = "pipeline: 8";
  text.replace(text.find(tensor), tensor.size(), "tensor: 4");
  text.replace(text.find(pipeline), pipeline.size(), "pipeline: 4");
  folder.write("edited.yaml", text);
  const json edited = result_of((folder.path() / "edited.yaml").string());
  const json overridden = result_of(kScenario, {"--set", "strategy.tensor=4", "--set", "strategy.pipeline=4"});
  CHECK(edited == overridden);
  CHECK(edited != result_of(kScenario));
  // The last of several counts.
  CHECK(result_of(kScenario, {"--set", "strategy.micro_batch=2", "--set", "strategy.micro_batch=1"}) ==
        result_of(kScenario));
}

TEST_CASE("out of memory is an answer: complete, with the reason, and status 3") {
  const ScratchFolder folder;
  const std::vector<std::string> starved = {
      "simulate", kScenario, "--set", "strategy.recompute=none", "--set", "strategy.micro_batch=8"};
  std::vector<std::string> with_files = starved;
  with_files.insert(with_files.end(), {"--format", "json", "--trace", "t.h5", "--timeline", "t.json"});
  const Finished finished = run(Invocation{with_files, folder.path()});
  CHECK(finished.status == 3);
  const json result = json::parse(finished.out);
  CHECK(result.at("fits") == false);
  CHECK(result.at("memory_peak_bytes") > result.at("memory_capacity_bytes"));
  CHECK(result.at("iteration_time_s") > 0);
  CHECK(folder.names() == std::vector<std::string>{"t.h5", "t.json"});
  for (const char* part : {"mirfak: error: out of memory: stage ", " of 79.2 GiB: ", "activations ",
                           "this is enough:\n    strategy.recompute: selective: "}) {
    CAPTURE(part);
    CHECK(finished.err.find(part) != std::string::npos);
  }
  const Finished text = run(starved);
  CHECK(text.status == 3);
  CHECK(text.out.find("DOES NOT FIT") != std::string::npos);
  CHECK(text.err == finished.err);
}

TEST_CASE("the text says how full the fullest stage is") {
  for (const char* recompute : {"strategy.recompute=full", "strategy.recompute=none"}) {
    CAPTURE(recompute);
    const std::vector<std::string> arguments = {"simulate", kScenario, "--set", recompute};
    std::vector<std::string> as_json = arguments;
    as_json.insert(as_json.end(), {"--format", "json"});
    const json result = json::parse(run(as_json).out);
    const double share =
        result.at("memory_peak_bytes").get<double>() / result.at("memory_capacity_bytes").get<double>();
    const std::string out = run(arguments).out;
    const std::string before = "Peak memory of a GPU, GiB: ";
    REQUIRE(out.find(before) != std::string::npos);
    const double shown = std::stod(out.substr(out.find(before) + before.size()));
    CHECK(std::abs(shown - 100 * share) <= 0.05 + 1e-9);  // one decimal
  }
}

TEST_CASE("what remedies a lack of memory is what the strategy does not do yet") {
  const Finished finished =
      run({"simulate", kScenario, "--set", "cluster.nodes[0].type=dgx-1-v100-16g", "--set", "strategy.schedule=1f1b"});
  REQUIRE(finished.status == 3);
  CHECK(finished.err.find("strategy.recompute") == std::string::npos);  // full already
  CHECK(finished.err.find("strategy.schedule") == std::string::npos);   // 1f1b already
  CHECK(finished.err.find("strategy.zero") == std::string::npos);       // nobody to share with
  CHECK(finished.err.find("strategy.sequence_parallel: true") != std::string::npos);
}

TEST_CASE("the picture of links is SVG, and its figures are in the JSON") {
  const ScratchFolder folder;
  const Finished finished = run(Invocation{
      {"simulate", kInterleaved, "--set", "cluster.fabric={type: fat-tree, leaf_ports: 16, oversubscription: 8}",
       "--links", "l.svg", "--format", "json"},
      folder.path()});
  REQUIRE(finished.status == 0);
  const json links = json::parse(finished.out).at("links");
  CHECK(links.at("unbound_iteration_s") < json::parse(finished.out).at("iteration_time_s"));
  CHECK(!links.at("binding").empty());
  CHECK(read_text(folder.path() / "l.svg").starts_with("<svg "));
  CHECK(!result_of(kInterleaved).contains("links"));
}

TEST_CASE("the trace is HDF5, the timeline a list of events that a viewer reads") {
  const ScratchFolder folder;
  const Finished finished =
      run(Invocation{{"simulate", kScenario, "--trace", "t.h5", "--timeline", "t.json"}, folder.path()});
  CHECK(finished.status == 0);
  CHECK(read_text(folder.path() / "t.h5").starts_with("\x89HDF\r\n\x1a\n"));
  const json timeline = json::parse(read_text(folder.path() / "t.json"));
  CHECK(timeline.at("traceEvents").size() > 1000);
  CHECK(folder.names() == std::vector<std::string>{"t.h5", "t.json"});
}

TEST_CASE("power over time is a table, an object or HDF5, by the ending of its file") {
  const ScratchFolder folder;
  const std::string csv = (folder.path() / "watts.csv").string();
  const std::string object = (folder.path() / "watts.json").string();
  const std::string hdf5 = (folder.path() / "watts.h5").string();
  const json result = result_of(kInterleaved, {"--power", csv, "--power-resolution", "1ms"});
  const json& power = result.at("power");
  CHECK(power.at("all_gpus").at("mean_w").get<double>() ==
        doctest::Approx(result.at("average_power_w").get<double>()).epsilon(1e-9));
  const std::string table = read_text(csv);
  CHECK(table.starts_with(
      "time_s,machine_w,gpus_w,hosts_w,network_w,passes_w,optimizer_w,collectives_w,waiting_w,node_0_w,"));
  CHECK(static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n')) ==
        power.at("intervals").get<std::size_t>() + 1);
  const json coarse = result_of(kInterleaved, {"--power", object}).at("power");
  json written = json::parse(read_text(object));
  CHECK(written.at("series").front().at("name") == "machine_w");
  CHECK(written.at("series").front().at("watts").size() == coarse.at("intervals").get<std::size_t>());
  CHECK(written.at("spectrum").at("frequency_hz").size() == written.at("spectrum").at("amplitude_w").size());
  for (const char* more : {"series", "spectrum"}) written.erase(more);
  CHECK(written == coarse);
  CHECK(coarse.at("all_gpus").at("peak_w").get<double>() ==
        doctest::Approx(result.at("power_peak_w").get<double>()).epsilon(1e-9));
  REQUIRE(simulate(kScenario, {"--power", hdf5}).status == 0);
  CHECK(read_text(hdf5).starts_with("\x89HDF"));
}

// The card has 700 W and draws 71 W without work. Below 70 % memory keeps its speed, at the limit; below 55 % (385 W)
// all kernels slow down, below some 200 W the card halts for a share of the time, and below 147 W waiting is limited.
TEST_CASE("lower power limits take longer and need less power, down to what the card draws without work") {
  double before_s = 0;
  double before_w = 1e9;
  for (const char* limit :
       {"700", "560", "490", "489", "440", "400", "385", "384", "300", "202", "200", "150", "146", "100", "72"}) {
    CAPTURE(limit);
    const json result = result_of(kInterleaved, {"--set", std::string("cluster.nodes[0].gpu_power_limit_w=") + limit});
    const double seconds = result.at("iteration_time_s").get<double>();
    const double watts = result.at("average_power_w").get<double>();
    CHECK(seconds >= before_s);
    CHECK(watts <= before_w * (1 + 1e-9));
    CHECK(watts <= 64 * std::stod(limit));
    before_s = seconds;
    before_w = watts;
  }
  CHECK(simulate(kInterleaved, {"--set", "cluster.nodes[0].gpu_power_limit_w=71"}).status == 2);
}

TEST_CASE("what --power does not take is refused with its remedy") {
  const ScratchFolder folder;
  const std::string csv = (folder.path() / "watts.csv").string();
  const auto refused = [&](const std::vector<std::string>& options, const std::string& message) {
    const Finished finished = simulate(kScenario, options);
    CHECK(finished.status == 2);
    CHECK_MESSAGE(finished.err.find(message) != std::string::npos, finished.err);
  };
  refused({"--power", (folder.path() / "watts.png").string()}, "ends in .csv, .json or .h5");
  refused({"--power-resolution", "1ms"}, "--power-resolution needs --power");
  refused({"--power", csv, "--power-resolution", "1us"}, "a time from 1ms to 1s");
  refused({"--power", csv, "--power-resolution", "2"}, "a time from 1ms to 1s");
  refused({"--power", csv, "--power-resolution", "2s"}, "a time from 1ms to 1s");
  CHECK(folder.names().empty());
}

TEST_CASE("the power over a training is a table, an object or HDF5, and its mean is that of the run") {
  const ScratchFolder folder;
  const std::string scenario = mirfak::source_root() + "/scenarios/train-llama3-405b-h100.yaml";
  const auto train = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"train", scenario, "--samples", "3", "--format", "json"});
    return run(options);
  };
  const std::string csv = (folder.path() / "watts.csv").string();
  const std::string object = (folder.path() / "watts.json").string();
  const std::string hdf5 = (folder.path() / "watts.h5").string();
  const Finished finished = train({"--power", csv, "--power-resolution", "10min"});
  REQUIRE(finished.status == 0);
  const json power = json::parse(finished.out).at("power");
  const std::string table = read_text(csv);
  CHECK(table.starts_with("time_s,machine_w,training_w,rework_w,saving_w"));
  CHECK(static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n')) ==
        power.at("intervals").get<std::size_t>() + 1);
  CHECK(power.at("saves").get<int>() > 1000);
  CHECK(power.at("least_w").get<double>() < power.at("mean_w").get<double>());
  CHECK(power.at("peak_w").get<double>() <= power.at("training_w").get<double>() * (1 + 1e-9));
  CHECK(power.at("notes").size() == 1);
  REQUIRE(train({"--power", object, "--power-resolution", "1h"}).status == 0);
  const json written = json::parse(read_text(object));
  double sum_w = 0;
  for (const json& watts : written.at("series").front().at("watts")) sum_w += watts.get<double>();
  CHECK(sum_w * written.at("interval_s").get<double>() ==
        doctest::Approx(written.at("energy_j").get<double>()).epsilon(1e-9));
  CHECK(written.at("energy_j").get<double>() == doctest::Approx(power.at("energy_j").get<double>()).epsilon(1e-9));
  REQUIRE(train({"--power", hdf5}).status == 0);
  CHECK(read_text(hdf5).starts_with("\x89HDF"));
  const Finished fine = train({"--power", csv, "--power-resolution", "1s"});
  CHECK(fine.status == 2);
  CHECK_MESSAGE(fine.err.find("ask for a coarser resolution") != std::string::npos, fine.err);
  CHECK(train({"--power-resolution", "1min"}).status == 2);
}

TEST_CASE("a floor of power burns energy, and time stays") {
  const json plain = result_of(kInterleaved, {});
  const json floored = result_of(kInterleaved, {"--set", "cluster.power_floor={share: 0.7}"});
  CHECK(plain.at("power_floor_energy_j").is_null());
  CHECK(floored.at("iteration_time_s") == plain.at("iteration_time_s"));
  CHECK(floored.at("energy_j").get<double>() ==
        doctest::Approx(plain.at("energy_j").get<double>() + floored.at("power_floor_energy_j").get<double>()));
  CHECK(floored.at("power_swing_w").get<double>() < plain.at("power_swing_w").get<double>());
}

TEST_CASE("an explanation follows the summary and names sources") {
  const Finished plain = run({"simulate", kScenario});
  const Finished explained = run({"simulate", kScenario, "--explain"});
  CHECK(explained.status == 0);
  CHECK(explained.out.starts_with(plain.out));
  CHECK(explained.out.size() > 2 * plain.out.size());
  CHECK(explained.out.find("arXiv") != std::string::npos);
  const Finished as_json = run({"simulate", kScenario, "--explain", "--format", "json"});
  CHECK(as_json.status == 2);
  CHECK(as_json.out.empty());
}

TEST_CASE("a scenario from a Hugging Face config") {
  const ScratchFolder folder;
  folder.write("config.json", R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32000,
    "max_position_embeddings": 4096, "rms_norm_eps": 1e-5, "tie_word_embeddings": false, "hidden_act": "silu"})");
  const std::string scenario = read_text(mirfak::source_root() + "/scenarios/llama3-8b-h100-single-node.yaml");
  const std::string model = "model: llama3-8b";
  std::string own = scenario;
  own.replace(own.find(model), model.size(), "model: ./config.json");
  std::string named = scenario;
  named.replace(named.find(model), model.size(), "model: llama2-7b");
  folder.write("own.yaml", own);
  folder.write("named.yaml", named);
  CHECK(result_of((folder.path() / "own.yaml").string()).dump() ==
        result_of((folder.path() / "named.yaml").string()).dump());
}

TEST_CASE("an assertion that does not hold ends with status 4, behind the whole answer") {
  const std::string scenario = "scenarios/gpt3-13b-gpipe-a100.yaml";
  const Finished broken = run({"simulate", scenario, "--format", "json", "--set", "assert=[mfu > 0.9, fits]"});
  CHECK(broken.status == 4);
  CHECK(json::parse(broken.out).at("fits") == true);
  CHECK(broken.err.find("'mfu > 0.9' does not hold: mfu is") != std::string::npos);
  CHECK(run({"simulate", scenario, "--set", "assert=[mfu > 0.1, fits]"}).status == 0);
  const Finished large = run(
      {"simulate", scenario, "--set", "model=gpt3-175b", "--set", "strategy.recompute=none", "--set", "assert=fits"});
  CHECK(large.status == 4);
  CHECK(large.err.find("out of memory") != std::string::npos);
  CHECK(large.err.find("'fits' does not hold") != std::string::npos);
}

TEST_CASE("train checks assertions on the training and on its iterations, and other commands say that they do not") {
  const std::string scenario = "scenarios/train-llama3-405b-h100.yaml";
  const auto trained = [&](const std::string& conditions) {
    return run({"train", scenario, "--samples", "20", "--format", "json", "--set", "assert=[" + conditions + "]"});
  };
  CHECK(trained("iteration_time_s < 1000, train.goodput > 0.1").status == 0);
  const Finished broken = trained("fits, iteration_time_s < 1, train.lost.rework_s < 1, train.restarts > 1");
  CHECK(broken.status == 4);
  CHECK(broken.err.find("iteration_time_s is ") != std::string::npos);
  CHECK(broken.err.find("train.lost.rework_s is ") != std::string::npos);
  CHECK(broken.err.find("2 assertions do not hold") != std::string::npos);
  CHECK(json::parse(broken.out).at("restarts") > 1);
  const json alone = result_of(scenario, {"--set", "assert=[train.restarts < 1]"});
  CHECK(alone.at("notes").dump().find("is not checked: it is of a whole training") != std::string::npos);
  const Finished clocks = run({"frontier", kScenario, "--format", "json", "--set", "assert=[not fits]"});
  CHECK(clocks.status == 0);
  CHECK(clocks.out.find("assert: not checked here") != std::string::npos);
  const Finished differences = run({"diff", kScenario, kInterleaved, "--format", "json", "--set", "assert=[not fits]"});
  CHECK(differences.out.find("assert: not checked here") != std::string::npos);
}

TEST_CASE("a training that needs more memory than there is ends with status 3, behind the whole answer") {
  const Finished large = run({"train", "scenarios/train-llama3-405b-h100.yaml", "--samples", "5", "--format", "json",
                              "--set", "strategy.recompute=none"});
  CHECK(large.status == 3);
  CHECK(large.err.find("out of memory") != std::string::npos);
  CHECK(json::parse(large.out).at("finish_time_s") > 0);
}

TEST_CASE("CSV has the names and the numbers of the JSON") {
  const Finished table = run({"simulate", "scenarios/gpt3-13b-gpipe-a100.yaml", "--format", "csv"});
  REQUIRE(table.status == 0);
  CHECK(table.out.starts_with("iteration_time_s,"));
  const json result = result_of("scenarios/gpt3-13b-gpipe-a100.yaml");
  CHECK(table.out.find(result.at("iteration_time_s").dump() + ",") != std::string::npos);
  CHECK(std::count(table.out.begin(), table.out.end(), '\n') == 2);
}
