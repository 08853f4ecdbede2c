// The figures of results, which one table defines (mirfak list figures), on every face that shows them.

#include "program.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

using namespace mirfak;
using namespace mirfak::test;

namespace {

using Json = nlohmann::ordered_json;

Json listed_figures() { return Json::parse(run({"list", "figures", "--format", "json"}).out)["figures"]; }

bool is_of_training(const Json& figure) { return figure["key"].get<std::string>().starts_with("train."); }

// Rows "| `key` | unit | meaning |".
std::string table_of(bool training) {
  std::string out = "| key | unit | meaning |\n|---|---|---|\n";
  for (const Json& figure : listed_figures()) {
    std::string key = figure["key"];
    if (is_of_training(figure) != training || key.starts_with("activities.")) continue;
    if (training) key = key.substr(std::string("train.").size());
    const std::string unknown =
        figure["unknown"].is_null() ? "" : fmt::format(" null: {}.", figure["unknown"].get<std::string>());
    out += fmt::format("| `{}` | {} | {}{} |\n", key, figure["unit"].get<std::string>(),
                       figure["meaning"].get<std::string>(), unknown);
  }
  return out;
}

// The text between two comments, which `table` replaces where MIRFAK_WRITE_PAGES is set.
void check_table(const std::string& begin, const std::string& table) {
  const std::string path = source_root() + "/sim/faces/report/README.md";
  std::string page = read_text(path);
  const std::string first = fmt::format("<!-- {} -->\n", begin);
  REQUIRE(page.find(first) != std::string::npos);
  const std::size_t from = page.find(first) + first.size();
  const std::size_t to = page.find("<!-- end -->", from);
  REQUIRE(to != std::string::npos);
  if (std::getenv("MIRFAK_WRITE_PAGES") != nullptr) {
    page.replace(from, to - from, table);
    std::ofstream(path) << page;
    return;
  }
  CHECK_MESSAGE(
      page.substr(from, to - from) == table,
      "sim/faces/report/README.md: the table is not that of mirfak list figures; MIRFAK_WRITE_PAGES=1 writes it");
}

Finished run_in(const ScratchFolder& folder, std::vector<std::string> arguments) {
  Finished out = run({std::move(arguments), folder.path()});
  REQUIRE_MESSAGE(out.status == 0, out.err);
  return out;
}

// The value of "finish_time_s" or "lost.rework_s" in a result; nullptr: there is none.
const Json* value_of(const Json& result, const std::string& key) {
  const std::size_t dot = key.find('.');
  const Json::const_iterator found = result.find(key.substr(0, dot));
  if (found == result.end()) return nullptr;
  return dot == std::string::npos ? &*found : value_of(*found, key.substr(dot + 1));
}

}  // namespace

TEST_CASE("figures: every one has words, and its table stands in the README") {
  std::set<std::string> labels;
  for (const Json& figure : listed_figures()) {
    CAPTURE(figure["key"]);
    const std::string label = figure["label"];
    const std::string meaning = figure["meaning"];
    CHECK_FALSE(label.empty());
    const std::string key = figure["key"];
    CHECK(labels.insert(key.substr(0, key.find('.') + 1) + label).second);
    CHECK(meaning.ends_with("."));
    CHECK_FALSE(figure["unit"].get<std::string>().empty());
  }
  CHECK(labels.size() > 70);
  check_table("figures of an iteration", table_of(false));
  check_table("figures of a training", table_of(true));
}

TEST_CASE("figures: every one is on every face") {
  const ScratchFolder folder;
  folder.write("job.yaml",
               "model: gpt3-1.3b\n"
               "cluster: {nodes: [{type: dgx-a100-80g, count: 1}], pue: 1.2, carbon_g_per_kwh: 300}\n"
               "training: {global_batch: 64, tokens: 1e9}\n"
               "strategy: {tensor: 2, pipeline: 4}\n"
               "operations: {}\n");
  folder.write("sweep.yaml", "scenario: job.yaml\naxes:\n  - grid: {strategy.micro_batch: [1, 2]}\n");
  const Json result = Json::parse(run_in(folder, {"simulate", "job.yaml", "--format", "json"}).out);
  const std::string csv = run_in(folder, {"simulate", "job.yaml", "--format", "csv"}).out;
  const Json training = Json::parse(run_in(folder, {"train", "job.yaml", "--samples", "2", "--format", "json"}).out);
  run_in(folder, {"simulate", "job.yaml", "--report", "simulate.html", "--trace", "trace.h5"});
  run_in(folder, {"train", "job.yaml", "--samples", "2", "--report", "train.html"});
  const std::string page = read_text(folder.path() / "simulate.html");
  const std::string page_of_training = read_text(folder.path() / "train.html");
  for (const Json& figure : listed_figures()) {
    std::string key = figure["key"];
    CAPTURE(key);
    const bool trained = is_of_training(figure);
    if (trained) key = key.substr(std::string("train.").size());
    const Json* const value = value_of(trained ? training : result, key);
    REQUIRE(value != nullptr);
    const bool single = !trained && !key.starts_with("activities.");
    if (single) CHECK(csv.substr(0, csv.find('\n')).find(key) != std::string::npos);
    const std::string why = fmt::format("\"{}\":{{\"meaning\":{}", key, figure["meaning"].dump());
    if (!value->is_null()) CHECK((trained ? page_of_training : page).find(why) != std::string::npos);
    CHECK(page.find(fmt::format(":{}", figure["label"].dump())) != std::string::npos);
  }
}
