#pragma once

#include "calibration/factor_fit.hpp"
#include "validation/validate_runs.hpp"

#include <optional>
#include <span>
#include <string>

namespace mirfak {

// Help of a few measured runs in predicting further runs of the same machine under the same framework: means over
// the tables that have enough runs, each judged by the spread of machines and frameworks in the other tables.
struct OwnRunsScore {
  int own = 0;              // number of known runs
  int tables = 0;           // tables that could be judged
  int groups = 0;           // groups of runs on one type of nodes under one framework
  double error_before = 0;  // mean absolute errors of the other runs
  double error_after = 0;
  double coverage = 0;
  double mean_width = 0;
};

// The spread of machines and frameworks around their profiles, and how well it predicts tables left out of its fit.
struct SpreadOfTables {
  FactorSpread spread;
  OwnRunsScore left_out;
};

// Fits the spread to runs that have their sensitivities; a share `level` of the measurements shall lie in ranges made
// from it. nullopt if fewer than three tables have more than `own` runs on one machine under one framework.
std::optional<SpreadOfTables> spread_of_tables(std::span<const ValidatedRun> runs, double level, int own);

// Returns the section `own_runs` of ranges.yaml.
std::string own_runs_yaml(const SpreadOfTables& fitted);

}  // namespace mirfak
