// The sweeps of scenarios/papers against the figures of the papers that they are of (published.csv), and against what
// the papers conclude from the curves that they do not print as numbers. Bounds are what the models reach today,
// rounded up.

#include "base/csv.hpp"
#include "base/error_statistics.hpp"
#include "scenario/point_reader.hpp"
#include "simulation/figures.hpp"
#include "simulation/iteration.hpp"
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

std::vector<IterationResult> all_points_of(const std::string& sweep_file) {
  const DataFolders folders{kSource / "models", kSource / "hw_profiles"};
  const SweepFile sweep = parse_sweep(Document::from_file(kPapers / sweep_file));
  PointReader reader(sweep, Catalog(folders.hardware), folders);
  std::vector<IterationResult> results;
  for (std::uint64_t point = 0; point < sweep.points(); ++point) {
    results.push_back(simulate(reader.read(point)).result);
  }
  return results;
}

// The results of a sweep whose points all fit in memory.
std::vector<IterationResult> points_of(const std::string& sweep_file) {
  std::vector<IterationResult> results = all_points_of(sweep_file);
  for (const IterationResult& result : results) CHECK(result.fits);
  return results;
}

double figure(const IterationResult& result, const std::string& key) { return figure_value(key, result).number; }

// The share of time that the second saves against the first.
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

// Recomputation adds a forward pass to one that takes a third of the time: no more than 4/3 of it.
TEST_CASE("SC'21, figure 17: recomputation costs up to a third, and large batches, which need it, are twice as fast") {
  const std::vector<IterationResult> points = all_points_of("megatron-sc21-recomputation.yaml");
  REQUIRE(points.size() == 16);  // by batch, 2 to 256 sequences: 8 that keep all, 8 that recompute
  constexpr std::size_t kFitting = 4;
  for (std::size_t batch = 0; batch < 8; ++batch) {
    CHECK(points[batch].fits == (batch < kFitting));
    CHECK(points[8 + batch].fits);
    CHECK(gain(points[8 + batch], points[batch]) > 0.30);
    CHECK(gain(points[8 + batch], points[batch]) < 0.34);
  }
  const double without = figure(points[kFitting - 1], "tflops_per_gpu");
  const double with = figure(points.back(), "tflops_per_gpu");
  CHECK(with / without > 1.7);
  CHECK(with / without < 2.1);
}
