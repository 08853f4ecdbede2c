#pragma once

#include "validation/run_model.hpp"

#include <string>

namespace mirfak {

// The scenario of a measured run, as YAML that `mirfak simulate` takes. Error(infeasible) at the row, with what it does
// not state or what is not known of it.
std::string scenario_yaml_of(const MeasuredRun& run, const ModelLibrary& models);

}  // namespace mirfak
