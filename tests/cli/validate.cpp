#include "program.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace mirfak::test;
using nlohmann::json;

namespace {

const std::string kRuns = "validate/published/korthikanti-2022-seqpar-selective.csv";

}  // namespace

TEST_CASE("a table of runs is scored") {
  const Finished finished = run({"validate", kRuns, "--format", "json"});
  REQUIRE(finished.status == 0);
  const json result = json::parse(finished.out);
  CHECK(result.at("n") == 5);
  CHECK(result.at("skipped") == 0);
  CHECK(result.at("rows").size() == 5);
  CHECK(result.at("mape").get<double>() > 0);
  CHECK(result.at("spearman").get<double>() > 0.97);
}

TEST_CASE("the scenario of a row is one that simulate takes, and gives the same prediction") {
  const Finished finished = run({"validate", kRuns, "--line", "2"});
  REQUIRE(finished.status == 0);
  const ScratchFolder folder;
  folder.write("row.yaml", finished.out);
  const json rows = json::parse(run({"validate", kRuns, "--format", "json"}).out).at("rows");
  const json simulated = json::parse(run({"simulate", (folder.path() / "row.yaml").string(), "--format", "json"}).out);
  CHECK(simulated.at("iteration_time_s") == rows[0].at("predicted"));
}

TEST_CASE("how a row was read stands in front of its scenario, and a row that was not read has none") {
  const Finished read = run({"validate", kRuns, "--line", "2"});
  CHECK(read.out.find("# dtype 'fp16'") != std::string::npos);
  CHECK(read.out.find("training.precision: fp16") != std::string::npos);
  CHECK(read.out.find("korthikanti-2022-seqpar-selective.map.yaml") != std::string::npos);
  const ScratchFolder folder;
  folder.write("runs.csv",
               "gpu,n_gpus,n_layers,hidden,n_heads,seq_len,micro_batch,global_batch,dtype,s_per_iter_derived\n"
               "A100,8,24,1024,16,1024,4,64,float8,1\n");
  const std::string table = (folder.path() / "runs.csv").string();
  const Finished refused = run({"validate", table, "--line", "2"});
  CHECK(refused.status == 3);
  CHECK(refused.err.find("runs.csv:2:") != std::string::npos);
  CHECK(refused.err.find("'float8' is not understood") != std::string::npos);
  CHECK(refused.out.find("\nmodel:") == std::string::npos);
  const json result = json::parse(run({"validate", table, "--format", "json"}).out);
  CHECK(result.at("n") == 0);
  CHECK(result.at("skipped") == 1);
  CHECK(result.at("skipped_rows")[0].at("column") == "dtype");
  CHECK(result.at("skipped_rows")[0].at("word") == "float8");
}

TEST_CASE("a mapping beside the table, or named, explains its words; its faults have a place") {
  const ScratchFolder folder;
  folder.write("runs.csv",
               "gpu,n_gpus,n_layers,hidden,n_heads,seq_len,micro_batch,global_batch,dtype,s_per_iter_derived\n"
               "A100,8,24,1024,16,1024,4,64,half,1\n");
  folder.write("named.yaml", "columns: {dtype: {rules: [{words: half, set: {training.precision: fp16}}]}}\n");
  const std::string table = (folder.path() / "runs.csv").string();
  const auto scored = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"validate", table, "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return json::parse(run(arguments).out).at("n");
  };
  CHECK(scored({}) == 0);
  CHECK(scored({"--map", (folder.path() / "named.yaml").string()}) == 1);
  folder.write("runs.map.yaml", "columns: {dtype: {rules: [{words: half, set: {training.precision: fp16}}]}}\n");
  CHECK(scored({}) == 1);
  folder.write("runs.map.yaml", "columns: {dtype: {rules: [{word: half}]}}\n");
  const Finished faulty = run({"validate", table});
  CHECK(faulty.status == 2);
  CHECK(faulty.err.find("runs.map.yaml:1:") != std::string::npos);
}

TEST_CASE("tiers are letters that tables use") {
  CHECK(run({"validate", kRuns, "--tiers", "Z"}).status == 2);
  CHECK(run({"validate", kRuns, "--tiers", "Z"}).err.find("expected letters among ABC, found 'Z'") !=
        std::string::npos);
}

TEST_CASE("the words that tables may use are listed") {
  const Finished words = run({"list", "words", "--column", "recompute", "--format", "json"});
  REQUIRE(words.status == 0);
  const json listed = json::parse(words.out).at("words");
  CHECK(listed.size() > 5);
  for (const json& word : listed) CHECK(word.at("column") == "recompute");
  CHECK(run({"list", "words", "--column", "recompte"}).err.find("did you mean 'recompute'?") != std::string::npos);
}

TEST_CASE("tables that are none are refused with their place, and leave nothing behind") {
  const ScratchFolder folder;
  folder.write("runs.csv", "gpu,n_gpus,s_per_iter_derived\nA100,eight,1\n");
  const std::string table = (folder.path() / "runs.csv").string();
  const Finished finished = run({"validate", table, "--report", (folder.path() / "REPORT.md").string()});
  CHECK(finished.status == 2);
  CHECK(finished.err.find("runs.csv:2:6: n_gpus: expected a number, found 'eight'") != std::string::npos);
  CHECK(finished.out.empty());
  CHECK(folder.names() == std::vector<std::string>{"runs.csv"});
  CHECK(run({"validate", kRuns, "--line", "1000"}).status == 2);
  CHECK(run({"validate"}).status == 2);
}

TEST_CASE("a log with the script that started it is one command from its time to the prediction") {
  const std::string log = "scenarios/launch/pretrain_llama3_8b.log";
  const std::string script = "scenarios/launch/pretrain_llama3_8b.sh";
  const Finished finished = run({"validate", log, "--with", script, "--format", "json"});
  REQUIRE(finished.status == 0);
  const json result = json::parse(finished.out);
  CHECK(result.at("measured").at("used") == 9);
  CHECK(result.at("measured").at("warm_up") == 1);
  const double measured = result.at("measured").at("seconds");
  CHECK(measured > 8.88);
  CHECK(measured < 8.97);
  const json simulated = json::parse(run({"simulate", script, "--format", "json"}).out);
  CHECK(result.at("predicted_s") == simulated.at("iteration_time_s"));
  CHECK(result.at("in_range") == (measured <= result.at("predicted_high_s").get<double>()));
  CHECK(result.at("notes").empty());
  const Finished text = run({"validate", log, "--with", script});
  CHECK(text.out.find("slower than it should be") != std::string::npos);
  CHECK(text.out.find("Where the time of a GPU goes") != std::string::npos);
}

TEST_CASE("what a log leaves open is asked for by name, and its row is one that validate takes") {
  const std::string log = "scenarios/launch/pretrain_llama3_8b.log";
  const Finished alone = run({"validate", log});
  CHECK(alone.status == 2);
  for (const char* key : {"model", "training.precision", "strategy.tensor", "strategy.micro_batch", "--nodes"}) {
    CAPTURE(key);
    CHECK(alone.err.find(key) != std::string::npos);
  }
  const ScratchFolder folder;
  const std::string table = (folder.path() / "runs.csv").string();
  const std::string scenario = (folder.path() / "run.yaml").string();
  const Finished written =
      run({"import", log, "--with", "scenarios/launch/pretrain_llama3_8b.sh", "--out", scenario, "--runs", table});
  REQUIRE(written.status == 0);
  const json rows = json::parse(run({"validate", table, "--format", "json"}).out).at("rows");
  REQUIRE(rows.size() == 1);
  const json compared =
      json::parse(run({"validate", log, "--with", "scenarios/launch/pretrain_llama3_8b.sh", "--format", "json"}).out);
  CHECK(rows[0].at("predicted") == compared.at("predicted_s"));
  CHECK(rows[0].at("measured").get<double>() == doctest::Approx(compared.at("measured").at("seconds").get<double>()));
  CHECK(run({"import", log, "--runs", table}).status == 2);
  CHECK(run({"validate", kRuns, "--with", scenario}).status == 2);
  CHECK(run({"validate", log, "--with", scenario, "--line", "2"}).status == 2);
}

TEST_CASE("what of a log contradicts the scenario counts, and both places are told") {
  const ScratchFolder folder;
  folder.write("run.yaml",
               "model: llama3-8b\ncluster: {nodes: [{type: hgx-h100, count: 8}]}\ntraining: {global_batch: 256}\n"
               "strategy: {tensor: 2, micro_batch: 1, sequence_parallel: true, zero: 1}\n");
  folder.write(
      "train.log",
      "***** Running training *****\n  Total train batch size (w. parallel, distributed & accumulation) = 128\n"
      "{'train_runtime': 50.0, 'train_steps_per_second': 0.2, 'epoch': 1.0}\n");
  const std::string log = (folder.path() / "train.log").string();
  const Finished finished = run({"validate", log, "--with", (folder.path() / "run.yaml").string()});
  REQUIRE(finished.status == 0);
  CHECK(finished.out.find("train.log:2:") != std::string::npos);
  CHECK(finished.out.find("training.global_batch is 128 by the log, which counts, and 256 at") != std::string::npos);
  CHECK(finished.out.find("run.yaml:3:") != std::string::npos);
  CHECK(finished.out.find("128 sequences") != std::string::npos);
}
