#include "validation/spread_of_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kFewestTables = 3;

struct Groups {
  std::vector<std::vector<FactorSample>> samples;
  std::vector<std::string> tables;  // table of each group
};

Groups groups_of(std::span<const ValidatedRun> runs, int own) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<FactorSample>> found;
  for (const ValidatedRun& run : runs) {
    if (!run.scored() || !run.time_sensitivities || run.machine.empty()) continue;
    found[{run.run.where.file, run.machine, run.framework}].push_back(
        {*run.time_sensitivities, std::log(run.seconds.measured / run.seconds.predicted)});
  }
  Groups out;
  for (auto& [key, samples] : found) {
    if (static_cast<int>(samples.size()) <= own) continue;
    out.samples.push_back(std::move(samples));
    out.tables.push_back(std::get<0>(key));
  }
  return out;
}

std::vector<std::string> tables_of(const Groups& groups) {
  std::vector<std::string> tables = groups.tables;  // sorted, as the map's keys are
  tables.erase(std::unique(tables.begin(), tables.end()), tables.end());
  return tables;
}

// Returns the number of deviations that holds a share `level` of the runs; every table counts alike.
double quantile_of(std::vector<std::pair<double, double>> standardized, double level) {
  std::sort(standardized.begin(), standardized.end());
  double all = 0;
  for (const auto& [value, weight] : standardized) all += weight;
  double below = 0;
  for (const auto& [value, weight] : standardized) {
    below += weight;
    if (below >= level * all) return value;
  }
  return standardized.back().first;
}

FactorSpread fit(const Groups& groups, const std::string* left_out, double level, int own) {
  std::vector<std::vector<FactorSample>> used;
  std::vector<std::string> tables;
  for (std::size_t i = 0; i < groups.samples.size(); ++i) {
    if (left_out != nullptr && groups.tables[i] == *left_out) continue;
    used.push_back(groups.samples[i]);
    tables.push_back(groups.tables[i]);
  }
  FactorSpread spread = fit_factor_spread(used);
  std::vector<std::pair<double, double>> standardized;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const auto alike = static_cast<double>(std::count(tables.begin(), tables.end(), tables[i]));
    const OwnRunsJudgement judged = judge_own_runs(used[i], own, spread);
    for (const double value : judged.standardized) standardized.emplace_back(value, 1 / alike / judged.judged);
  }
  spread.quantile = quantile_of(std::move(standardized), level);
  return spread;
}

OwnRunsScore judge(const Groups& groups, const std::vector<std::string>& tables, double level, int own) {
  OwnRunsScore out;
  out.own = own;
  out.tables = static_cast<int>(tables.size());
  out.groups = static_cast<int>(groups.samples.size());
  for (const std::string& table : tables) {
    const FactorSpread spread = fit(groups, &table, level, own);
    const auto alike = static_cast<double>(std::count(groups.tables.begin(), groups.tables.end(), table));
    const double weight = 1 / alike / out.tables;
    for (std::size_t i = 0; i < groups.samples.size(); ++i) {
      if (groups.tables[i] != table) continue;
      const OwnRunsJudgement judged = judge_own_runs(groups.samples[i], own, spread);
      out.error_before += weight * judged.error_before;
      out.error_after += weight * judged.error_after;
      out.coverage += weight * judged.coverage;
      out.mean_width += weight * judged.mean_width;
    }
  }
  return out;
}

}  // namespace

std::optional<SpreadOfTables> spread_of_tables(std::span<const ValidatedRun> runs, double level, int own) {
  const Groups groups = groups_of(runs, own);
  const std::vector<std::string> tables = tables_of(groups);
  if (tables.size() < kFewestTables) return std::nullopt;
  return SpreadOfTables{fit(groups, nullptr, level, own), judge(groups, tables, level, own)};
}

std::string own_runs_yaml(const SpreadOfTables& fitted) {
  const FactorSpread& spread = fitted.spread;
  const OwnRunsScore& left_out = fitted.left_out;
  std::string out =
      "# Deviations that a user's own runs are weighed against (`mirfak calibrate --runs`): of ln(factor) from machine "
      "to\n"
      "# machine and framework to framework, and of ln(measured / predicted) from run to run; `level` of the\n"
      "# measurements lie within `quantile` deviations of a prediction that own runs correct.\n"
      "own_runs:\n";
  for (std::size_t i = 0; i < kTimeFactors; ++i) {
    out += fmt::format("  {}: {:.4f}\n", kTimeFactorKeys[i].key, spread.factors[i]);
  }
  return out +
         fmt::format(
             "  run: {:.4f}\n"
             "  quantile: {:.4f}\n"
             "  left_out: {{own: {}, tables: {}, groups: {}, error_before: {:.4f}, error_after: {:.4f}, coverage: "
             "{:.3f}, mean_width: {:.3f}}}\n",
             spread.run, spread.quantile, left_out.own, left_out.tables, left_out.groups, left_out.error_before,
             left_out.error_after, left_out.coverage, left_out.mean_width);
}

}  // namespace mirfak
