// GPTs on 1 to 64 V100 as Alpa planned them (OSDI'22, arXiv 2201.12023), against its measurements: the search's best
// under Alpa's options (1F1B, layers recomputed), and the best without pipeline stages (Alpa's intra-operator
// parallelism alone) and with a GPU for each stage (inter-operator alone). Alpa does not print its plans; nothing was
// chosen by these runs.

#include "base/csv.hpp"
#include "plan/search.hpp"
#include "scenario/search_scenario.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace alpa_plans_test {

using namespace mirfak;

namespace {

const std::filesystem::path kFolder = source_root() / std::filesystem::path("scenarios/papers/alpa");

// Seconds of the best strategy; nothing: none runs.
std::optional<double> fastest_s(const CsvTable& table, std::size_t row, std::vector<std::string> limits) {
  const std::filesystem::path source = source_root();
  const auto text = [&](const char* column) { return table.text(row, table.require(column)); };
  std::vector<std::string> overrides = {
      "model.layers=" + text("layers"), "model.hidden=" + text("hidden"), "model.heads=" + text("heads"),
      fmt::format("cluster.nodes=[{{type: aws-p3, count: {}, gpus: {}}}]", text("nodes"), text("gpus"))};
  overrides.insert(overrides.end(), limits.begin(), limits.end());
  const SearchScenario scenario =
      load_search(kFolder / "gpt-39b.yaml", overrides, DataFolders{source / "models", source / "hw_profiles"});
  const SearchResult result = search(scenario.job, scenario.search.spec);
  if (result.strategies.empty()) return std::nullopt;
  return result.strategies.front().iteration_time_s;
}

std::string seconds_text(std::optional<double> seconds) { return seconds ? fmt::format("{:.1f}", *seconds) : "-"; }

}  // namespace

TEST_CASE("GPTs that Alpa planned for 2 to 64 V100") {
  const CsvTable table = CsvTable::from_file(kFolder / "published.csv");
  REQUIRE(table.rows() == 6);
  double errors = 0;
  std::string rows;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = [&](const char* column) { return table.text(row, table.require(column)); };
    const double measured = table.number(row, table.require("alpa_s"), 0, 1e6);
    const int gpus = std::stoi(text("nodes")) * std::stoi(text("gpus"));
    const std::optional<double> best = fastest_s(table, row, {});
    const std::optional<double> unstaged = fastest_s(table, row, {"strategy.pipeline=1"});
    // Alpa's stages may be smaller than a layer; ours are not.
    const std::optional<double> staged =
        gpus > std::stoi(text("layers"))
            ? std::nullopt
            : fastest_s(table, row, {fmt::format("strategy.pipeline={}", gpus), "strategy.tensor=1"});
    REQUIRE(best.has_value());
    const double error = *best / measured - 1;
    errors += std::abs(error);
    CHECK(std::abs(error) < 0.2);
    if (unstaged) CHECK(*best <= *unstaged);
    if (staged) CHECK(*best <= *staged);
    rows += fmt::format("\n  {:>5} {:>4} GPUs  {:>6.1f} {:>6.1f} {:>+6.1f} %   {:>7} {:>7}   {:>6} {:>6}",
                        text("parameters"), gpus, *best, measured, 100 * error, seconds_text(unstaged),
                        text("intra_only_s").substr(0, 6), seconds_text(staged), text("inter_only_s").substr(0, 6));
  }
  MESSAGE("seconds here, Alpa's, error; without stages here, Alpa's; a GPU a stage here, Alpa's" << rows);
  CHECK(errors / static_cast<double>(table.rows()) < 0.12);  // goal 0.15
}

}  // namespace alpa_plans_test
