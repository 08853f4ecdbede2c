#include "validation/range_fit.hpp"

#include "base/error.hpp"
#include "validation/quantile_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

namespace mirfak {

namespace {

static_assert(kUncertainties == kQuantileFeatures);

constexpr std::size_t kFewestToJudge = 3;  // fewest tables: one left out of the fit to the others
// Limit on a width: a few rows of one table must not claim more for a feature that no other table has. Software that
// nobody measured has missed by more in many tables.
constexpr double kLargestWidth = 0.3;
constexpr double kLargestUnmeasuredWidth = 1;
// Number of runs at which a table has half of its largest weight: tables of many runs hardly count more than tables of
// few, as runs of one source have similar errors.
constexpr double kRunsOfFullWeight = 3;

struct TableOfRuns {
  std::string name;
  std::vector<const ValidatedRun*> runs;

  bool first_contact() const { return runs.front()->first_contact; }
};

QuantileCoefficients largest_widths() {
  QuantileCoefficients out;
  out.fill(kLargestWidth);
  out[static_cast<std::size_t>(Uncertainty::unmeasured)] = kLargestUnmeasuredWidth;
  return out;
}

// Groups runs by their tables.
template <typename Counts>
std::vector<TableOfRuns> tables_of(std::span<const ValidatedRun> runs, const Counts& counts) {
  std::vector<TableOfRuns> tables;
  for (const ValidatedRun& run : runs) {
    if (!counts(run)) continue;
    const std::string& name = run.run.where.file;
    auto table = std::find_if(tables.begin(), tables.end(), [&](const TableOfRuns& each) { return each.name == name; });
    if (table == tables.end()) table = tables.insert(table, {name, {}});
    table->runs.push_back(&run);
  }
  return tables;
}

std::vector<TableOfRuns> tables_of(std::span<const ValidatedRun> runs) {
  return tables_of(runs, [](const ValidatedRun& run) { return run.scored(); });
}

// A quantity whose range has one width on either side for all runs: returns it, or nullopt if the row does not state
// it.
using PairOfRun = std::optional<PredictedPair> (*)(const ValidatedRun& run);

std::optional<PredictedPair> allocated(const ValidatedRun& run) {
  if (!run.scored() || !run.run.allocated_bytes) return std::nullopt;
  return run.allocated_bytes;
}
std::optional<PredictedPair> gpu_power(const ValidatedRun& run) {
  const std::optional<RangedPair>& drawn = run.drawn[static_cast<std::size_t>(DrawnQuantity::gpu_power)];
  if (!drawn || !run.ran()) return std::nullopt;
  return drawn->pair;
}

using Sides = PowerWidths::Sides;

Sides fit_sides(const std::vector<TableOfRuns>& tables, const TableOfRuns* left_out, double level, PairOfRun pair_of) {
  std::vector<QuantileSample> above;
  for (const TableOfRuns& table : tables) {
    if (&table == left_out) continue;
    const double weight = 1 / (static_cast<double>(table.runs.size()) + kRunsOfFullWeight);
    for (const ValidatedRun* run : table.runs) {
      const PredictedPair pair = *pair_of(*run);
      above.push_back({{1}, std::log(pair.measured / pair.predicted), weight});
    }
  }
  std::vector<QuantileSample> below = above;
  for (QuantileSample& sample : below) sample.value = -sample.value;
  const double quantile = (1 + level) / 2;
  return {fit_quantile(below, quantile, largest_widths()).front(),
          fit_quantile(above, quantile, largest_widths()).front()};
}

LeftOutTable judge_sides(const TableOfRuns& table, const Sides& widths, PairOfRun pair_of) {
  LeftOutTable out{{static_cast<int>(table.runs.size()), 0, std::exp(widths.above) - std::exp(-widths.below)},
                   table.name,
                   false,
                   {}};
  for (const ValidatedRun* run : table.runs) {
    const PredictedPair pair = *pair_of(*run);
    const double off = std::log(pair.measured / pair.predicted);
    if (off >= -widths.below && off <= widths.above) out.coverage += 1.0 / out.runs;
  }
  return out;
}

double log_ratio(const ValidatedRun& run) { return std::log(run.seconds.measured / run.seconds.predicted); }

// True if one framework of the data folder ran on GPUs of one architecture.
bool knows_software(const ValidatedRun& run) { return !run.software.empty() && !run.architecture.empty(); }

// Returns the uncertainty of a run where these sources measured its software. On several architectures, the run keeps
// the share that it was predicted with.
UncertaintyShares uncertainty_with(const ValidatedRun& run, const MeasuredSoftware& measured) {
  UncertaintyShares out = run.uncertainty;
  if (knows_software(run)) {
    out[static_cast<std::size_t>(Uncertainty::unmeasured)] =
        unmeasured_share(measured.sources(run.software, {}, run.architecture));
  }
  return out;
}

// Returns the rows of first-contact tables, or those of the known ones, without the table that is left out.
std::vector<QuantileSample> samples_of(const std::vector<TableOfRuns>& tables, const TableOfRuns* left_out,
                                       bool first_contact, const MeasuredSoftware& measured) {
  std::vector<QuantileSample> out;
  for (const TableOfRuns& table : tables) {
    if (&table == left_out || table.first_contact() != first_contact) continue;
    const double weight = 1 / (static_cast<double>(table.runs.size()) + kRunsOfFullWeight);
    for (const ValidatedRun* run : table.runs) {
      out.push_back({uncertainty_with(*run, measured), log_ratio(*run), weight});
    }
  }
  return out;
}

// Fits the widths on one side. Known tables decide all but that of Uncertainty::unmeasured, which takes what first
// contacts need in addition: predictions of known software stay as narrow as their errors ask for.
UncertaintyShares fit_side(std::vector<QuantileSample> known, std::vector<QuantileSample> first, double side,
                           double quantile) {
  constexpr auto unmeasured = static_cast<std::size_t>(Uncertainty::unmeasured);
  for (QuantileSample& sample : known) {
    sample.value *= side;
    sample.features[unmeasured] = 0;
  }
  UncertaintyShares widths = fit_quantile(known, quantile, largest_widths());
  for (QuantileSample& sample : first) {
    const double share = sample.features[unmeasured];
    sample.value *= side;
    for (std::size_t i = 0; i < kUncertainties; ++i) sample.value -= sample.features[i] * widths[i];
    sample.features = {};
    sample.features[unmeasured] = share;
  }
  widths[unmeasured] = fit_quantile(first, quantile, largest_widths())[unmeasured];
  return widths;
}

RangeWidths fit(const std::vector<TableOfRuns>& tables, const TableOfRuns* left_out, double level,
                const Measured& measured) {
  const std::vector<QuantileSample> known = samples_of(tables, left_out, false, *measured);
  const std::vector<QuantileSample> first = samples_of(tables, left_out, true, *measured);
  const double quantile = (1 + level) / 2;
  return {level, fit_side(known, first, -1, quantile), fit_side(known, first, 1, quantile), {}, {}, {}, {}, measured};
}

// Takes one more of these ranges into their means.
void add_range(JudgedRanges& means, const PredictionRange& range, const PredictedPair& of) {
  const bool inside = of.measured >= range.low_s && of.measured <= range.high_s;
  ++means.runs;
  means.coverage += ((inside ? 1.0 : 0.0) - means.coverage) / means.runs;
  means.mean_width += ((range.high_s - range.low_s) / of.predicted - means.mean_width) / means.runs;
}

LeftOutTable judge(const TableOfRuns& table, const RangeWidths& widths) {
  LeftOutTable out{{}, table.name, table.first_contact(), {}};
  for (const ValidatedRun* run : table.runs) {
    const UncertaintyShares uncertainty = uncertainty_with(*run, *widths.measured);
    const double predicted_s = run->seconds.predicted;
    const PredictionRange range =
        between_hosts(prediction_range(predicted_s, uncertainty, widths), predicted_s, run->hosts);
    add_range(out, range, run->seconds);
    if (!knows_software(*run)) continue;
    const int sources = widths.measured->sources(run->software, {}, run->architecture);
    add_range(out.by_sources[std::min(sources, kMostSources)], range, run->seconds);
  }
  return out;
}

// Takes the ranges of one more table into their means over tables.
void add_table(MeanRanges& means, const JudgedRanges& table) {
  ++means.tables;
  means.runs += table.runs;
  means.coverage += (table.coverage - means.coverage) / means.tables;
  means.mean_width += (table.mean_width - means.mean_width) / means.tables;
}

LeftOutRanges means_of(std::vector<LeftOutTable> tables) {
  LeftOutRanges out{std::move(tables), {}, {}};
  for (const LeftOutTable& table : out.tables) add_table(table.first_contact ? out.first_contact : out.known, table);
  return out;
}

std::vector<TableOfRuns> enough_tables(std::span<const ValidatedRun> runs, std::size_t least) {
  std::vector<TableOfRuns> tables = tables_of(runs);
  if (tables.size() < least) {
    fail_input({}, fmt::format("ranges need measured runs from {} tables at least, found {}", least, tables.size()),
               "give more tables of runs, or more of their tiers");
  }
  return tables;
}

}  // namespace

std::map<int, MeanRanges> LeftOutRanges::by_sources() const {
  std::map<int, MeanRanges> out;
  for (const LeftOutTable& table : tables) {
    for (const auto& [sources, ranges] : table.by_sources) add_table(out[sources], ranges);
  }
  return out;
}

MeasuredSoftware measured_software(std::span<const ValidatedRun> runs) {
  MeasuredSoftware out;
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (const ValidatedRun& run : runs) {
    if (run.first_contact || !run.scored() || !knows_software(run)) continue;
    if (seen.emplace(run.run.where.file, run.software, run.architecture).second)
      out.add(run.software, run.architecture);
  }
  return out;
}

RangeWidths fit_range_widths(std::span<const ValidatedRun> runs, double level, Measured measured) {
  if (!measured) measured = std::make_shared<const MeasuredSoftware>(measured_software(runs));
  return fit(enough_tables(runs, 2), nullptr, level, measured);
}

LeftOutRanges judge_range_widths(std::span<const ValidatedRun> runs, double level, Measured measured) {
  if (!measured) measured = std::make_shared<const MeasuredSoftware>(measured_software(runs));
  const std::vector<TableOfRuns> tables = enough_tables(runs, kFewestToJudge);
  std::vector<LeftOutTable> judged;
  for (const TableOfRuns& table : tables) judged.push_back(judge(table, fit(tables, &table, level, measured)));
  return means_of(std::move(judged));
}

namespace {

struct FittedSides {
  Sides widths;
  LeftOutRanges left_out;
};

std::optional<FittedSides> fit_quantity(std::span<const ValidatedRun> runs, double level, PairOfRun pair_of) {
  const std::vector<TableOfRuns> tables =
      tables_of(runs, [&](const ValidatedRun& run) { return pair_of(run).has_value(); });
  if (tables.size() < 2) return std::nullopt;
  std::vector<LeftOutTable> judged;
  for (const TableOfRuns& table : tables) {
    judged.push_back(judge_sides(table, fit_sides(tables, &table, level, pair_of), pair_of));
  }
  return FittedSides{fit_sides(tables, nullptr, level, pair_of), means_of(std::move(judged))};
}

}  // namespace

std::optional<MemoryRanges> fit_memory_ranges(std::span<const ValidatedRun> runs, double level) {
  auto fitted = fit_quantity(runs, level, allocated);
  if (!fitted) return std::nullopt;
  return MemoryRanges{{fitted->widths.below, fitted->widths.above, {}}, std::move(fitted->left_out)};
}

std::optional<PowerRanges> fit_power_ranges(std::span<const ValidatedRun> runs, double level) {
  auto fitted = fit_quantity(runs, level, gpu_power);
  if (!fitted) return std::nullopt;
  return PowerRanges{fitted->widths, std::move(fitted->left_out)};
}

std::vector<Reliability> reliability_of_ranges(std::span<const ValidatedRun> runs) {
  if (tables_of(runs).size() < kFewestToJudge) return {};
  std::vector<Reliability> out;
  for (const double level : {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95}) {
    const LeftOutRanges judged = judge_range_widths(runs, level);
    out.push_back({level, judged.known.coverage, judged.known.mean_width});
  }
  return out;
}

namespace {

std::string mean_yaml(const MeanRanges& mean) {
  return fmt::format("{{tables: {}, coverage: {:.3f}, mean_width: {:.3f}}}", mean.tables, mean.coverage,
                     mean.mean_width);
}

std::string measured_yaml(MeasuredSoftware measured, std::span<const std::string> frameworks) {
  for (const std::string& name : frameworks) measured.list(name);
  std::string out =
      "# Tables that measured a framework on an architecture of GPUs. Where none did, a prediction is a first "
      "contact.\n"
      "measured:\n";
  for (const auto& [framework, counts] : measured.frameworks()) {
    std::string of_each;
    for (const auto& [architecture, tables] : counts) {
      of_each += fmt::format("{}{}: {}", of_each.empty() ? "" : ", ", architecture, tables);
    }
    out += fmt::format("  {}: {{{}}}\n", framework, of_each);
  }
  return out;
}

}  // namespace

std::string ranges_yaml(const RangeWidths& widths, const LeftOutRanges& left_out, const std::string& source,
                        std::span<const std::string> frameworks) {
  std::string out = fmt::format(
      "# Distances of measured iterations from predicted ones: ln(measured / predicted) of `level` of them is between\n"
      "# -below and above, each the sum of these widths times the shares of the iteration that they concern\n"
      "# (README.md of this folder). Made by `mirfak validate RUNS.csv... --tiers A --ranges FILE`.\n"
      "source: \"{}\"\n"
      "level: {:g}\n"
      "left_out: {}  # means over tables, each judged by the others\n",
      source, widths.level, mean_yaml(left_out.known));
  if (left_out.first_contact.tables > 0) {
    out += fmt::format("first_contact: {}  # of them, those whose runs changed nothing\n",
                       mean_yaml(left_out.first_contact));
  }
  out += "widths:\n";
  for (std::size_t i = 0; i < kUncertainties; ++i) {
    out += fmt::format("  {}: {{below: {:.4f}, above: {:.4f}}}\n", key_of(static_cast<Uncertainty>(i)), widths.below[i],
                       widths.above[i]);
  }
  return out + (left_out.first_contact.tables > 0 ? measured_yaml(*widths.measured, frameworks) : "");
}

std::string memory_ranges_yaml(const MemoryRanges& ranges) {
  return fmt::format(
      "# The same of peaks of memory, of what the framework allocates.\n"
      "memory:\n"
      "  below: {:.4f}\n"
      "  above: {:.4f}\n"
      "  left_out: {}\n",
      ranges.widths.below, ranges.widths.above, mean_yaml(ranges.left_out.known));
}

std::string power_ranges_yaml(const PowerRanges& ranges) {
  return fmt::format(
      "# The same of the mean power of all GPUs over an iteration.\n"
      "power:\n"
      "  gpus: {{below: {:.4f}, above: {:.4f}, left_out: {}}}\n",
      ranges.gpus.below, ranges.gpus.above, mean_yaml(ranges.left_out.known));
}

}  // namespace mirfak
