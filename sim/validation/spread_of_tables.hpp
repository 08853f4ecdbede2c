#pragma once

#include "calibration/factor_fit.hpp"
#include "validation/validate_runs.hpp"

#include <optional>
#include <span>
#include <string>

namespace mirfak {

// What a few measured runs of a machine under a framework tell of its other runs: means over the tables that have
// enough of them, each judged by what the others say of machines and frameworks.
struct OwnRunsScore {
  int own = 0;              // runs that are known
  int tables = 0;           // that could be judged
  int groups = 0;           // of runs on one type of nodes under one framework
  double error_before = 0;  // mean absolute errors of the others
  double error_after = 0;
  double coverage = 0;
  double mean_width = 0;
};

// How machines and frameworks vary around their profiles, and how honest that is.
struct SpreadOfTables {
  FactorSpread spread;
  OwnRunsScore left_out;
};

// From runs that have their sensitivities; `level` of the measurements shall lie in ranges made of it. nullopt if fewer
// than three tables have more than `own` runs on one machine under one framework.
std::optional<SpreadOfTables> spread_of_tables(std::span<const ValidatedRun> runs, double level, int own);

// As the section `own_runs` of ranges.yaml.
std::string own_runs_yaml(const SpreadOfTables& fitted);

}  // namespace mirfak
