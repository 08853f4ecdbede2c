#include "program.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>

using namespace mirfak::test;
using nlohmann::json;

namespace {

const std::string kOptionsFile = "scenarios/options/llama3-70b-clouds.yaml";

std::vector<std::string> compare(std::vector<std::string> options) {
  options.insert(options.begin(), {"compare", kOptionsFile});
  return options;
}

}  // namespace

TEST_CASE("the shipped options run, the same on any number of threads, and what does not says why") {
  const Finished finished = run(compare({"--format", "json"}));
  REQUIRE(finished.status == 0);
  CHECK(finished.out == run(compare({"--format", "json", "--jobs", "1"})).out);
  const json result = json::parse(finished.out);
  std::size_t running = 0;
  for (const json& option : result.at("options")) {
    running += option.at("runs") ? 1 : 0;
    CHECK(option.at("reason").is_null() == option.at("runs").get<bool>());
    if (!option.at("runs")) continue;
    CHECK(option.at("cost_low_usd") <= option.at("cost_usd"));
    CHECK(option.at("cost_usd") <= option.at("cost_high_usd"));
    CHECK(option.at("co2_kg") > 0);
  }
  CHECK(running == 9);
  CHECK(result.at("options").size() == 10);
}

TEST_CASE("one option that fails leaves the others their rows, and a sentence names the winner") {
  const ScratchFolder folder;
  folder.write("options.yaml",
               "scenario:\n  model: llama3-8b\n"
               "  training: {global_batch: 64, sequence_length: 2048, precision: fp8, tokens: 1e10}\n"
               "  search:\n    space: {tensor: [1, 2], context: 1, pipeline: 1, virtual_pipeline: 1, micro_batch: 1}\n"
               "options:\n"
               "  - {name: old, cluster: {nodes: [{type: dgx-a100-80g, count: 2}], price: 1}}\n"
               "  - {name: dear, cluster: {nodes: [{type: hgx-h100, count: 2}], price: 20}}\n"
               "  - {name: good, cluster: {nodes: [{type: hgx-h100, count: 2}], price: 2}}\n");
  const Finished finished = run(Invocation{{"compare", "options.yaml"}, folder.path()});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  CHECK(finished.out.find("\ngood on 2 nodes is the cheapest: ") != std::string::npos);
  CHECK(finished.out.find("; dear on 2 nodes is next.\n") != std::string::npos);
  CHECK(finished.out.find("What does not run\n  old ") != std::string::npos);
  // A mistake in the last option is told before the first search.
  const Finished wrong =
      run_shell("sed -i 's/price: 2}/prize: 2}/' options.yaml; mirfak compare options.yaml", folder.path());
  CHECK(wrong.status == 2);
  CHECK(wrong.out.empty());
}

TEST_CASE("a table in which nothing is in time is told, with status 3") {
  const Finished finished = run_shell("sed 's/deadline_days: 120/deadline_days: 1/' " + kOptionsFile +
                                          " > late.yaml && mirfak compare late.yaml; "
                                          "status=$?; rm -f late.yaml; exit $status",
                                      ScratchFolder().path());
  CHECK(finished.status == 3);
  CHECK(finished.out.find("TOO LATE") != std::string::npos);
  CHECK(finished.err.find("no option runs and is done in time") != std::string::npos);
}

TEST_CASE("the page stands by itself, and is there although a terminal got the table") {
  const ScratchFolder folder;
  const Finished finished = run(Invocation{compare({"--report", "table.html"}), folder.path()});
  REQUIRE(finished.status == 0);
  const std::string page = read_text(folder.path() / "table.html");
  CHECK(page.starts_with("<!DOCTYPE html>"));
  CHECK(page.ends_with("</html>\n"));
  CHECK(std::count(page.begin(), page.end(), '\n') > 20);
}

TEST_CASE("each written scenario simulates to the figures of its row") {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path() / "rows");
  const Finished finished = run(Invocation{compare({"--out", "rows", "--format", "json"}), folder.path()});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  const json options = json::parse(finished.out).at("options");
  std::size_t written = 0;
  for (const json& option : options) {
    CHECK(option.at("scenario").is_null() != option.at("runs").get<bool>());
    if (!option.at("runs")) continue;
    const std::string name = option.at("scenario");
    const Finished simulated = run(Invocation{{"simulate", name, "--format", "json"}, folder.path()});
    REQUIRE_MESSAGE(simulated.status == 0, simulated.err);
    const json result = json::parse(simulated.out);
    for (const char* key : {"iteration_time_s", "iteration_time_low_s", "mfu", "gpus"}) {
      CHECK(result.at(key) == option.at(key));
    }
    ++written;
  }
  CHECK(written == 9);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path() / "rows"), {}) == 9);
  const Finished missing = run(Invocation{compare({"--out", "nowhere"}), folder.path()});
  CHECK(missing.status == 2);
  CHECK(missing.out.empty());
}
