#include "validation/range_fit.hpp"

#include "base/error.hpp"
#include "validation/quantile_fit.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

using namespace mirfak;

namespace {

QuantileSample sample(double always, double share, double value) { return {{always, share}, value, 1}; }

QuantileCoefficients up_to(double largest) {
  QuantileCoefficients out;
  out.fill(largest);
  return out;
}

// A run predicted to take a second, of which `share` is tensor communication.
ValidatedRun run_of(const std::string& table, double measured_s, double share) {
  ValidatedRun run;
  run.run.where.file = table;
  run.run.seconds = measured_s;
  run.seconds = {1, measured_s};
  run.uncertainty = {1, 0, share};
  return run;
}

// Runs of `tables` tables whose errors are normal, wider where more of the time is communication.
std::vector<ValidatedRun> noisy_runs(int tables, int runs) {
  std::mt19937 random(1);
  std::normal_distribution<double> error;
  std::uniform_real_distribution<double> part(0, 0.5);
  std::vector<ValidatedRun> out;
  for (int table = 0; table < tables; ++table) {
    for (int i = 0; i < runs; ++i) {
      const double share = part(random);
      out.push_back(
          run_of("t" + std::to_string(table) + ".csv", std::exp((0.03 + 0.2 * share) * error(random)), share));
    }
  }
  return out;
}

std::filesystem::path folder_with(const std::string& text) {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / "mirfak-ranges";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "ranges.yaml") << text;
  return folder;
}

}  // namespace

TEST_CASE("a quantile of one constant feature is the quantile of the values") {
  std::vector<QuantileSample> samples;
  for (int i = 0; i <= 100; ++i) samples.push_back(sample(1, 0, 0.01 * i));
  for (const double quantile : {0.1, 0.5, 0.9}) {
    CHECK(fit_quantile(samples, quantile, up_to(10))[0] == doctest::Approx(quantile).epsilon(0.01));
  }
}

TEST_CASE("quantile regression finds a line, and leaves what it does not need at 0") {
  std::vector<QuantileSample> samples;
  for (int i = 0; i < 100; ++i) {
    const double share = 0.01 * i;
    samples.push_back(sample(1, share, 0.05 + 0.2 * share));
  }
  const auto found = fit_quantile(samples, 0.9, up_to(10));
  CHECK(found[0] == doctest::Approx(0.05).epsilon(1e-3));
  CHECK(found[1] == doctest::Approx(0.2).epsilon(1e-3));
  CHECK(found[2] == 0);
  CHECK(fit_quantile(samples, 0.9, up_to(0.1))[1] <= 0.1);
}

TEST_CASE("no coefficient is negative") {
  std::vector<QuantileSample> samples;
  for (int i = 0; i < 50; ++i) samples.push_back(sample(1, 0.02 * i, 0.3 - 0.2 * 0.02 * i));
  for (const double coefficient : fit_quantile(samples, 0.5, up_to(10))) CHECK(coefficient >= 0);
}

TEST_CASE("of tables left out, as many measurements lie in their ranges as were asked for") {
  const std::vector<ValidatedRun> runs = noisy_runs(20, 60);
  for (const double level : {0.5, 0.8, 0.9}) {
    const LeftOutRanges judged = judge_range_widths(runs, level);
    CHECK(judged.tables.size() == 20);
    CHECK(judged.known.coverage == doctest::Approx(level).epsilon(0.05));
  }
  CHECK(judge_range_widths(runs, 0.5).known.mean_width < judge_range_widths(runs, 0.9).known.mean_width);
}

TEST_CASE("ranges are wider where errors are") {
  const RangeWidths widths = fit_range_widths(noisy_runs(20, 60), 0.8);
  const auto communication = static_cast<std::size_t>(Uncertainty::tensor_communication);
  CHECK(widths.above[0] == doctest::Approx(1.28 * 0.03).epsilon(0.3));
  CHECK(widths.above[communication] == doctest::Approx(1.28 * 0.2).epsilon(0.3));
  const PredictionRange narrow = prediction_range(2, {1}, widths);
  const PredictionRange wide = prediction_range(2, {1, 0, 0.5}, widths);
  CHECK(wide.low_s < narrow.low_s);
  CHECK(narrow.low_s < 2);
  CHECK(narrow.high_s > 2);
  CHECK(wide.high_s > narrow.high_s);
}

// Errors of 2 % in one table and 4 % in the other: each is judged by the other's.
TEST_CASE("ranges of memory: widths of the tables that state what was allocated, each judged by the others") {
  std::mt19937 random(2);
  std::normal_distribution<double> error;
  std::vector<ValidatedRun> runs = noisy_runs(3, 200);
  for (ValidatedRun& run : runs) {
    if (run.run.where.file == "t2.csv") continue;
    const double measured = 1e10 * std::exp((run.run.where.file == "t0.csv" ? 0.02 : 0.04) * error(random));
    run.run.allocated_bytes = measured;
    run.allocated_bytes = {1e10, measured};
  }
  const std::optional<MemoryRanges> ranges = fit_memory_ranges(runs, 0.8);
  REQUIRE(ranges);
  REQUIRE(ranges->left_out.tables.size() == 2);
  CHECK(ranges->widths.below > 0.02 * 1.28);
  CHECK(ranges->widths.above < 0.04 * 1.4);
  CHECK(ranges->left_out.tables[0].coverage > 0.9);
  CHECK(ranges->left_out.tables[1].coverage < 0.6);
  for (ValidatedRun& run : runs) {
    if (run.run.where.file == "t1.csv") run.run.allocated_bytes.reset();
  }
  CHECK_FALSE(fit_memory_ranges(runs, 0.8));

  const RangeWidths widths = fit_range_widths(runs, 0.8);
  const std::string file = ranges_yaml(widths, judge_range_widths(runs, 0.8), "600 runs");
  CHECK_FALSE(read_range_widths(folder_with(file)).memory.known());
  const MemoryWidths read = read_range_widths(folder_with(file + memory_ranges_yaml(*ranges))).memory;
  CHECK(read.below == doctest::Approx(ranges->widths.below).epsilon(0.01));
  CHECK(read.above == doctest::Approx(ranges->widths.above).epsilon(0.01));
}

TEST_CASE("two tables do not tell how honest ranges are, and one not how wide they have to be") {
  CHECK_THROWS_WITH_AS(judge_range_widths(noisy_runs(2, 5), 0.8), doctest::Contains("3 tables at least, found 2"),
                       Error);
  CHECK_THROWS_AS(fit_range_widths(noisy_runs(1, 5), 0.8), Error);
}

TEST_CASE("what is written is read again") {
  const std::vector<ValidatedRun> runs = noisy_runs(5, 20);
  const RangeWidths widths = fit_range_widths(runs, 0.8);
  const RangeWidths read =
      read_range_widths(folder_with(ranges_yaml(widths, judge_range_widths(runs, 0.8), "100 runs")));
  CHECK(read.level == 0.8);
  for (std::size_t i = 0; i < kUncertainties; ++i) {
    CHECK(std::abs(read.below[i] - widths.below[i]) <= 5.1e-5);
    CHECK(std::abs(read.above[i] - widths.above[i]) <= 5.1e-5);
  }
}

TEST_CASE("a folder without ranges knows nothing, and a file has to say every width") {
  CHECK_FALSE(read_range_widths("/nowhere").known());
  const std::string head = "source: \"runs\"\nlevel: 0.8\nwidths:\n";
  CHECK_THROWS_WITH_AS(read_range_widths(folder_with(head + "  always: {below: 0.1, above: 0.1}\n")),
                       doctest::Contains("borrowed"), Error);
  CHECK_THROWS_WITH_AS(read_range_widths(folder_with(head + "  always: {below: -0.1, above: 0.1}\n")),
                       doctest::Contains("ranges.yaml"), Error);
  CHECK_THROWS_AS(read_range_widths(folder_with("level: 0.8\n")), Error);
}

// Forty tables of two frameworks: predictions of the first are right to 3 %, and half of its tables changed them.
// Tables of the second are first contacts, 30 % slower than predicted.
TEST_CASE(
    "software that no table measured has a wider range, on the side of its errors; tables that did make it narrow") {
  std::mt19937 random(3);
  std::normal_distribution<double> error;
  std::vector<ValidatedRun> runs;
  for (int table = 0; table < 40; ++table) {
    const bool is_new = table % 2 == 1;
    for (int i = 0; i < 30; ++i) {
      ValidatedRun run = run_of("t" + std::to_string(table) + ".csv",
                                std::exp((is_new ? 0.3 : 0) + (is_new ? 0.1 : 0.03) * error(random)), 0);
      run.software = is_new ? "new" : "known";
      run.architecture = "hopper";
      run.first_contact = is_new;
      runs.push_back(run);
    }
  }
  const RangeWidths widths = fit_range_widths(runs, 0.8);
  const auto unmeasured = static_cast<std::size_t>(Uncertainty::unmeasured);
  CHECK(widths.above[unmeasured] == doctest::Approx(0.3 + 0.128 - 0.038).epsilon(0.15));
  CHECK(widths.below[unmeasured] == 0);
  REQUIRE(widths.measured != nullptr);
  CHECK(widths.measured->sources("known", {}, "hopper") == 20);
  CHECK(widths.measured->sources("known", {}, "ampere") == 0);
  CHECK(widths.measured->sources("new", {}, "hopper") == 0);

  const LeftOutRanges judged = judge_range_widths(runs, 0.8);
  CHECK(judged.known.tables == 20);
  CHECK(judged.first_contact.tables == 20);
  CHECK(judged.known.coverage == doctest::Approx(0.8).epsilon(0.1));
  CHECK(judged.first_contact.coverage > 0.8);
  CHECK(judged.known.mean_width < 0.1);

  const std::map<int, MeanRanges> by_sources = judged.by_sources();
  REQUIRE(by_sources.size() == 2);
  CHECK(by_sources.at(0).tables == 20);
  CHECK(by_sources.at(0).runs == 600);
  CHECK(by_sources.at(0).coverage == doctest::Approx(judged.first_contact.coverage));
  CHECK(by_sources.at(kMostSources).mean_width == doctest::Approx(judged.known.mean_width));

  const std::vector<std::string> frameworks = {"known", "never-run", "new"};
  const RangeWidths read = read_range_widths(folder_with(ranges_yaml(widths, judged, "1200 runs", frameworks)));
  REQUIRE(read.measured != nullptr);
  CHECK(read.measured->sources("known", {}, "hopper") == 20);
  // A user's fork counts as what it inherits from, but a framework of the data folder only as itself.
  CHECK(read.measured->sources("ours", std::vector<std::string>{"known"}, "hopper") == 20);
  CHECK(read.measured->sources("never-run", std::vector<std::string>{"known"}, "hopper") == 0);
}

TEST_CASE("the share of the unmeasured falls with every source") {
  CHECK(unmeasured_share(0) == 1);
  CHECK(unmeasured_share(1) == 0.125);
  CHECK(unmeasured_share(9) == doctest::Approx(0.001));
}

// Powers that are measured 4 % apart in one table and 8 % in the other, some of them in rows without seconds.
TEST_CASE("ranges of power: widths of the tables that state what GPUs drew, each judged by the others") {
  std::mt19937 random(3);
  std::normal_distribution<double> error;
  std::vector<ValidatedRun> runs = noisy_runs(3, 200);
  const auto drawn = [](ValidatedRun& run) -> std::optional<RangedPair>& {
    return run.drawn[static_cast<std::size_t>(DrawnQuantity::gpu_power)];
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    ValidatedRun& run = runs[i];
    if (run.run.where.file == "t2.csv") continue;
    const double measured = 700 * std::exp((run.run.where.file == "t0.csv" ? 0.04 : 0.08) * error(random));
    drawn(run) = RangedPair{{700, measured}, 600, 800};
    run.run.gpu_power_w = measured;
    run.run.ran = true;
    if (i % 2 == 0) run.seconds.measured = 0;
  }
  const std::optional<PowerRanges> ranges = fit_power_ranges(runs, 0.8);
  REQUIRE(ranges);
  REQUIRE(ranges->left_out.tables.size() == 2);
  CHECK(ranges->gpus.below > 0.04 * 1.28);
  CHECK(ranges->gpus.above < 0.08 * 1.4);
  CHECK(ranges->left_out.tables[0].runs == 200);
  CHECK(ranges->left_out.tables[0].coverage > 0.9);
  CHECK(ranges->left_out.tables[1].coverage < 0.6);

  const SourceScore of_all = score(runs, "all", "A");
  const DrawnScore& power = of_all.drawn[static_cast<std::size_t>(DrawnQuantity::gpu_power)];
  CHECK(power.errors.count == 400);
  CHECK(power.mean_width == doctest::Approx(200.0 / 700));
  CHECK(power.coverage > 0.9);
  CHECK(of_all.drawn[static_cast<std::size_t>(DrawnQuantity::gpu_energy)].errors.count == 0);

  const RangeWidths widths = fit_range_widths(runs, 0.8);
  const std::string file = ranges_yaml(widths, judge_range_widths(runs, 0.8), "600 runs");
  const PowerWidths read = read_range_widths(folder_with(file + power_ranges_yaml(*ranges))).power;
  CHECK(read.gpus.below == doctest::Approx(ranges->gpus.below).epsilon(0.01));
  CHECK_FALSE(read.hosts.known());
  for (ValidatedRun& run : runs) {
    if (run.run.where.file == "t1.csv") drawn(run).reset();
  }
  CHECK_FALSE(fit_power_ranges(runs, 0.8));
}
