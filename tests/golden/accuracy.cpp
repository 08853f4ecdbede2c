// All published runs of validate/published against their predictions: a change that makes predictions worse shows here.
// The bounds are what the models reach today, rounded up; better predictions are a reason to lower them.

#include "support/source_root.hpp"
#include "validation/range_fit.hpp"
#include "validation/validate_runs.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>

using namespace mirfak;

namespace {

struct Accuracy {
  int tables = 0;
  double mean_mape = 0;
  double mean_median = 0;
  int rows = 0;
  int skipped = 0;
  int too_large = 0;
  ErrorStatistics memory;
  std::vector<SourceScore> scores;
  std::vector<ValidatedRun> runs;

  const SourceScore& of(const std::string& name) const {
    for (const SourceScore& each : scores) {
      if (each.source == name) return each;
    }
    throw std::out_of_range(name);
  }
};

// Scores the tables of runs of a folder.
Accuracy measure(const std::filesystem::path& folder, const std::string& tiers) {
  const std::filesystem::path source = source_root();
  const DataFolders folders{source / "models", source / "hw_profiles"};
  const RunMappings mappings = RunMappings::from_folder(source / "validate" / "published");
  Accuracy out;
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const bool is_no_run = entry.path().stem() == "predictions" || entry.path().stem() == "vocabulary";
    if (entry.path().extension() == ".csv" && !is_no_run) files.insert(entry.path());
  }
  for (const std::filesystem::path& file : files) {
    std::vector<ValidatedRun> runs = validate_runs(CsvTable::from_file(file), mappings, folders);
    const SourceScore scored = score(runs, file.stem().string(), tiers);
    std::erase_if(runs, [&](const ValidatedRun& run) { return tiers.find(run.run.tier) == std::string::npos; });
    out.runs.insert(out.runs.end(), runs.begin(), runs.end());
    out.scores.push_back(scored);
    out.skipped += scored.skipped;
    out.too_large += scored.too_large;
    out.rows += static_cast<int>(scored.errors.count);
    if (scored.memory_errors.count > 0) out.memory = scored.memory_errors;
    if (scored.errors.count == 0) continue;
    ++out.tables;
    out.mean_mape += scored.errors.mape;
    out.mean_median += scored.errors.median_ape;
  }
  out.mean_mape /= out.tables;
  out.mean_median /= out.tables;
  return out;
}

std::filesystem::path published() { return std::filesystem::path(source_root()) / "validate" / "published"; }

}  // namespace

TEST_CASE("published runs of tier A: mean over sources of the absolute error at most 6.2 %, of the median 5 %") {
  const Accuracy accuracy = measure(published(), "A");
  CHECK(accuracy.tables >= 19);
  CHECK(accuracy.rows >= 1500);
  CHECK(accuracy.mean_mape <= 0.062);
  CHECK(accuracy.mean_median <= 0.05);
  CHECK(accuracy.skipped <= 0.01 * accuracy.rows);
  CHECK(accuracy.too_large <= 0.002 * accuracy.rows);
  CHECK(accuracy.of("korthikanti-2022-seqpar-selective").errors.mape <= 0.053);
  CHECK(accuracy.of("mosaicml-llm-foundry").errors.mape <= 0.041);
  CHECK(accuracy.of("flagperf-a100-h800").errors.mape <= 0.046);
  CHECK(accuracy.of("internevo-7b-a100").errors.mape <= 0.037);
  // 0.063 until exchanges of experts ran beside passes as Megatron-LM's source has them: messages between stages hide
  // beside attention there, and do not here (validate/published/findings.yaml). 0.069 while kernels after a collective
  // that had ended lost time to it.
  CHECK(accuracy.of("megatron-bridge-performance-summary").errors.mape <= 0.0692);
  CHECK(accuracy.of("vtrain-single").errors.mape <= 0.074);
  CHECK(accuracy.of("vtrain-multi").errors.mape <= 0.093);
  CHECK(accuracy.of("mlperf-pretrain").errors.mape <= 0.068);
  CHECK(accuracy.memory.mape <= 0.014);

  // Ranges for 80 %, each table judged by widths that were fitted to the others.
  const LeftOutRanges ranges = judge_range_widths(accuracy.runs, 0.8);
  CHECK(ranges.known.coverage >= 0.75);
  CHECK(ranges.known.coverage <= 0.85);
  CHECK(ranges.known.mean_width <= 0.21);
  for (const LeftOutTable& table : ranges.tables) {
    CAPTURE(table.name);
    // simumax-b200: 7 of 24, as its predictions are 14 % too fast (REPORT.md).
    const bool known_to_be_fast = table.name.find("simumax-b200") != std::string::npos;
    if (table.runs >= 10) CHECK(table.coverage >= (known_to_be_fast ? 0.29 : 0.58));
  }
  // The ranges that predictions are printed with are those that such runs ask for.
  const RangeWidths fitted = fit_range_widths(accuracy.runs, 0.8);
  const RangeWidths shipped = read_range_widths(std::filesystem::path(source_root()) / "hw_profiles");
  CHECK(shipped.level == fitted.level);
  CHECK(shipped.above[0] == doctest::Approx(fitted.above[0]).epsilon(0.2));
  CHECK(shipped.below[0] == doctest::Approx(fitted.below[0]).epsilon(0.2));
}

TEST_CASE(
    "runs of sources that were unknown: mean over sources of the absolute error at most 12.8 %, of the median 11.6") {
  const std::filesystem::path folder = std::filesystem::path(source_root()) / ".." / "shared" / "first-contact";
  if (!std::filesystem::is_directory(folder)) {
    MESSAGE("skipped: there is no ../shared/first-contact");
    return;
  }
  const Accuracy accuracy = measure(folder, "AB");
  CHECK(accuracy.tables == 16);
  CHECK(accuracy.mean_mape <= 0.128);
  CHECK(accuracy.mean_median <= 0.116);
  CHECK(accuracy.of("mlperf51-amd").errors.mape <= 0.06);
  CHECK(accuracy.of("lambda-squad-1gpu").errors.mape <= 0.106);
}
