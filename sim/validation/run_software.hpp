#pragma once

#include "validation/measured_run.hpp"

#include <string>

namespace mirfak {

// The `training` and `strategy` sections of the scenario of a run, as YAML: framework, precision and features by the
// words of its cells (README.md of this folder lists them). Error(infeasible) at the row where the batch or the layout
// is not stated.
std::string training_yaml_of(const MeasuredRun& run);
std::string strategy_yaml_of(const MeasuredRun& run);

// The framework that a run's words name, or the one that its hardware and precision make likely.
std::string framework_of(const MeasuredRun& run);

}  // namespace mirfak
