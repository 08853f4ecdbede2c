// The sweeps of scenarios/papers against the figures of the papers that they are of (published.csv), and against what
// the papers conclude from the curves that they do not print as numbers. Bounds are what the models reach today,
// rounded up.

#include "base/csv.hpp"
#include "base/error_statistics.hpp"
#include "plan/search.hpp"
#include "scenario/point_reader.hpp"
#include "scenario/search_scenario.hpp"
#include "simulation/iteration.hpp"
#include "simulation/summary_values.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

const std::filesystem::path kSource = source_root();
const std::filesystem::path kPapers = kSource / "scenarios" / "papers";

std::vector<IterationResult> points_of(const std::string& sweep_file) {
  const DataFolders folders{kSource / "models", kSource / "hw_profiles"};
  const SweepFile sweep = load_sweep(kPapers / sweep_file, {});
  PointReader reader(sweep, Catalog(folders.hardware), folders);
  std::vector<IterationResult> results;
  for (std::uint64_t point = 0; point < sweep.points(); ++point) {
    results.push_back(simulate(reader.read(point)).result);
    CHECK(results.back().fits);
  }
  return results;
}

double figure(const IterationResult& result, const std::string& key) {
  for (const SummaryValue& value : summary_values(result)) {
    if (value.key == key) return value.number;
  }
  throw std::out_of_range(key);
}

// The share of time that the second saves.
double gain(const IterationResult& before, const IterationResult& after) {
  return before.iteration_time_s / after.iteration_time_s - 1;
}

}  // namespace

TEST_CASE("figures of papers, by sweep") {
  const CsvTable table = CsvTable::from_file(kPapers / "published.csv");
  std::map<std::string, std::vector<PredictedPair>> errors;
  std::map<std::string, std::vector<IterationResult>> results;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& sweep = table.text(row, table.require("sweep"));
    const auto point = static_cast<std::size_t>(table.number(row, table.require("point"), 0, 1e3));
    if (!results.contains(sweep)) results.emplace(sweep, points_of(sweep));
    REQUIRE(point < results.at(sweep).size());
    const double predicted = figure(results.at(sweep)[point], table.text(row, table.require("quantity")));
    errors[sweep].push_back({predicted, table.number(row, table.require("value"), 0, 1e9)});
    CHECK(!table.text(row, table.require("source")).empty());
    INFO(sweep << " point " << point << ": " << predicted);
    CHECK(std::abs(errors[sweep].back().error()) <= 0.10);
  }
  const std::map<std::string, double> bounds = {{"megatron-sc21-table1.yaml", 0.05},
                                                {"megatron-sc21-table2.yaml", 0.045},
                                                {"mt-nlg-530b.yaml", 0.055},
                                                {"korthikanti-table5.yaml", 0.055}};
  REQUIRE(errors.size() == bounds.size());
  for (const auto& sweep_errors : errors) {
    INFO(sweep_errors.first);
    CHECK(error_statistics(sweep_errors.second).mape <= bounds.at(sweep_errors.first));
  }
}

TEST_CASE(
    "SC'21, figures 12 and 18: interleaving gains more than 10 % where microbatches are few, scatter and gather up to "
    "11 %") {
  const std::vector<IterationResult> points = points_of("megatron-sc21-interleaving.yaml");
  REQUIRE(points.size() == 15);  // by batch: plain, interleaved, interleaved without scatter and gather
  double before = 10;
  for (std::size_t batch = 0; batch < 5; ++batch) {
    const double interleaving = gain(points[3 * batch], points[3 * batch + 1]);
    CHECK(interleaving > 0.10);
    CHECK(interleaving < before);  // the more microbatches, the smaller the bubble
    before = interleaving;
    const double scattering = gain(points[3 * batch + 2], points[3 * batch + 1]);
    CHECK(scattering > 0.04);
    CHECK(scattering < 0.11);
  }
}

TEST_CASE("SC'21, figure 13: tensor parallelism that fills a node is best") {
  const std::vector<IterationResult> points = points_of("megatron-sc21-tensor-pipeline.yaml");
  REQUIRE(points.size() == 10);
  for (const std::size_t begin : {0U, 5U}) {
    const auto best =
        std::min_element(points.begin() + begin, points.begin() + begin + 5,
                         [](const auto& a, const auto& b) { return a.iteration_time_s < b.iteration_time_s; });
    CHECK(best - points.begin() == begin + 2);
  }
}

TEST_CASE("SC'21, figures 14 and 15: replicas beat stages and tensor ranks beyond what the model needs") {
  const std::vector<IterationResult> points = points_of("megatron-sc21-data.yaml");
  REQUIRE(points.size() == 27);
  for (std::size_t batch = 0; batch < 3; ++batch) {
    for (const std::size_t more : {1U, 2U, 3U, 4U, 6U, 7U, 8U}) {
      CHECK(points[9 * batch + more].iteration_time_s > points[9 * batch + more - 1].iteration_time_s);
    }
  }
}

TEST_CASE("SC'21, figure 16: microbatches of two sequences are within 2 % of the best, of eight are not") {
  const std::vector<IterationResult> points = points_of("megatron-sc21-microbatch.yaml");
  REQUIRE(points.size() == 8);
  for (const std::size_t begin : {0U, 4U}) {
    double best = 1e9;
    for (std::size_t i = begin; i < begin + 4; ++i) best = std::min(best, points[i].iteration_time_s);
    CHECK(points[begin + 1].iteration_time_s < 1.02 * best);
    CHECK(points[begin + 3].iteration_time_s > 1.02 * best);
  }
}

namespace {

SearchResult searched(const std::string& file, const std::string& nodes) {
  const std::vector<std::string> overrides = {"cluster.nodes=" + nodes};
  const DataFolders folders{kSource / "models", kSource / "hw_profiles"};
  const SearchScenario scenario = load_search(kPapers / "astra" / file, overrides, folders);
  return search(scenario.job, scenario.search.spec);
}

double fastest_s(const std::string& file, const std::string& nodes) {
  const SearchResult found = searched(file, nodes);
  REQUIRE(!found.strategies.empty());
  return found.strategies.front().iteration_time_s;
}

bool beats(const FoundStrategy& a, const FoundStrategy& b) {
  return a.iteration_time_s <= b.iteration_time_s && a.cost_usd <= b.cost_usd && a.energy_j < b.energy_j;
}

}  // namespace

// On 32 to 64 GPUs; the files have 1,024 and 2,048.
TEST_CASE("Astra's three modes: a mix lies between its types, and what is fastest is among what nothing beats") {
  const std::string quick = "{type: hgx-h100, count: ";
  const std::string slow = "{type: dgx-a100-80g, count: ";
  const double of_quick = fastest_s("homogeneous.yaml", "[" + quick + "4}]");
  const double of_slow = fastest_s("homogeneous.yaml", "[" + slow + "4}]");
  const double of_both = fastest_s("heterogeneous.yaml", "[" + quick + "2}, " + slow + "2}]");
  CHECK(of_quick < of_both);
  CHECK(of_both < of_slow);
  const SearchResult unbeaten = searched("cost.yaml", "[" + quick + "4}, " + slow + "4}]");
  REQUIRE(unbeaten.strategies.size() >= 2);
  CHECK(unbeaten.strategies.front().iteration_time_s == of_quick);
  for (const FoundStrategy& a : unbeaten.strategies) {
    for (const FoundStrategy& b : unbeaten.strategies) CHECK_FALSE(beats(a, b));
  }
}
