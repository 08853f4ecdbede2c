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
