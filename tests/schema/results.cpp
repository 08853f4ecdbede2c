// Schemas of results follow from what the commands write of examples. Sentences are those of the tables in the READMEs
// of the rooms that report them.

#include "cli/program.hpp"
#include "result_shape.hpp"
#include "schema_files.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

using namespace mirfak;

namespace {

using Json = nlohmann::ordered_json;
using Arguments = std::vector<std::string>;

// A kind of result: the sections of the page that describe it, and the commands that make examples. Together these have
// every key.
struct ResultKind {
  std::string name;
  std::vector<std::string> sections;
  std::vector<Arguments> examples;
  std::set<std::string> open = {};
};

const std::string kSmall = "scenarios/gpt3-13b-gpipe-a100.yaml";
const std::string kMixed = "scenarios/llama2-70b-h100-a100.yaml";

std::vector<ResultKind> result_kinds() {
  const std::string iterations = "JSON (`--format json`)";
  const std::set<std::string> strategy = {"strategies[].strategy",   "strategies[].variants[].strategy",
                                          "variants[].strategy",     "baseline.strategy",
                                          "robust.fastest.strategy", "robust.robust.strategy"};
  return {
      {"simulate",
       {iterations},
       {{"simulate", kSmall, "--sensitivity"},
        {"simulate", kSmall, "--power", "watts.csv"},
        {"simulate", kSmall, "--power", "watts.csv", "--set", "cluster.nodes=[{type: gb200-nvl72, count: 16}]"},
        {"simulate", kSmall, "--power", "watts.csv", "--set", "cluster.power_floor={share: 0.6}"},
        {"simulate", kMixed, "--links", "links.svg"},
        {"simulate", "scenarios/gpt-1t-a100.yaml", "--set", "training.tokens=1e9", "--set", "cluster.pue=1.2", "--set",
         "cluster.carbon_g_per_kwh=300"},
        {"simulate", "scenarios/mt-nlg-530b-a100.yaml"},
        {"simulate", "scenarios/gpt2-1.5b-v100.yaml", "--set", "cluster.nodes=[{type: dgx-2, count: 2}]"},
        {"simulate", "scenarios/search-mixed-a100-h100.yaml"},
        {"simulate", "scenarios/llama2-13b-v100-h100-stages.yaml"},
        {"simulate", "scenarios/llama2-70b-h100-perturbed.yaml", "--samples", "8"}}},
      {"jobs",
       {"Several jobs (`mirfak simulate --format json` of a file with `jobs:`)"},
       {{"simulate", "scenarios/jobs/two-llama2-70b-h100.yaml"}}},
      {"search",
       {"Search (`mirfak search --format json`)", iterations},
       {{"search", "scenarios/search-llama2-70b-h100.yaml"},
        {"search", kSmall, "--free", "all", "--set", "strategy.tensor=7", "--time-limit", "0.001"},
        {"search", kSmall, "--free", "all", "--robust", "--set", "search.space.recompute_layers=[all]"},
        {"search", "scenarios/search-cost-llama3-70b.yaml"},
        {"search", "scenarios/search-mixed-a100-h100.yaml"},
        {"search", "scenarios/search-stages-h100-v100.yaml", "--time-limit", "0.001"}},
       strategy},
      {"frontier",
       {"Frontier (`mirfak frontier --format json`)"},
       {{"frontier", kSmall}, {"frontier", kSmall, "--unit", "part"}}},
      {"train",
       {"Training (`mirfak train --format json`)"},
       {{"train", "scenarios/train-llama3-405b-h100.yaml", "--samples", "50"},
        {"train", "scenarios/train-llama3-405b-h100.yaml", "--samples", "50", "--power", "watts.csv",
         "--power-resolution", "1h"}}},
      {"compare",
       {"Options (`mirfak compare --format json`)"},
       {{"compare", "scenarios/options/llama3-70b-clouds.yaml", "--out", "."},
        {"compare", source_root() + "/tests/schema/examples/sizing.yaml"}}},
      {"diff",
       {"Differences (`mirfak diff --format json`)"},
       {{"diff", kSmall, kMixed, "--set", "training.tokens=1e9"},
        {"diff", kSmall, "--set-b", "strategy.recompute=full"}}},
  };
}

Json result_of(const Arguments& example, const std::filesystem::path& folder) {
  test::Invocation invocation{example, folder};
  invocation.arguments.insert(invocation.arguments.end(), {"--format", "json"});
  const test::Finished finished = test::run(invocation);
  REQUIRE_MESSAGE((finished.status == 0 || finished.status == 3), fmt::format("{}", fmt::join(example, " ")), ": ",
                  finished.err);
  return Json::parse(finished.out);
}

// The rows of the tables in these sections of the pages, "| `key`, `another` | unit | meaning |".
schema::Descriptions described_in(const std::vector<std::string>& sections) {
  schema::Descriptions out;
  const std::regex name("`([^`]*)`");
  for (const char* const room : {"report", "comparison"}) {
    std::ifstream in(std::filesystem::path(source_root()) / "sim" / "faces" / room / "README.md");
    bool inside = false;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("## "))
        inside = std::find(sections.begin(), sections.end(), line.substr(3)) != sections.end();
      if (!inside || !line.starts_with("| `")) continue;
      const std::vector<std::string> cells = schema::cells_of(line);
      if (cells.size() < 2) continue;
      std::string sentence = schema::plain(cells.back());
      if (cells.size() == 3 && !schema::plain(cells[1]).empty())
        sentence += fmt::format(" [{}]", schema::plain(cells[1]));
      for (std::sregex_iterator word(cells[0].begin(), cells[0].end(), name), end; word != end; ++word) {
        if (!sentence.empty()) out[(*word)[1]] = sentence;
      }
    }
  }
  return out;
}

// Keys that may be null by the words of the pages may be so, though no example has null.
void allow_null(schema::Place& place, const schema::Descriptions& sentences) {
  for (auto& [name, key] : place.keys) {
    const auto sentence = sentences.find(name);
    if (sentence != sentences.end() && sentence->second.find("null") != std::string::npos) key.nullable = true;
  }
}

}  // namespace

TEST_CASE("schemas of results are what the commands write") {
  const test::ScratchFolder folder;
  for (const ResultKind& kind : result_kinds()) {
    schema::Place place;
    for (const Arguments& example : kind.examples)
      schema::add_result(place, result_of(example, folder.path()), kind.open);
    const schema::Descriptions sentences = described_in(kind.sections);
    allow_null(place, sentences);
    schema::check_file(kind.name,
                       schema::json_schema(place, "mirfak " + kind.name, sentences, schema::SchemaOf::result));
    const std::vector<std::string> untyped = schema::untyped(place);
    CHECK_MESSAGE(untyped.empty(), kind.name, ": ", fmt::format("{}", fmt::join(untyped, " ")));
  }
}
