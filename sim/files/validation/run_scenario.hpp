#pragma once

#include "base/document.hpp"
#include "validation/run_model.hpp"
#include "validation/run_reading.hpp"

namespace mirfak {

// Returns the scenario of a completed reading of a row. Values keep the places of their cells and of the mapping files;
// to_yaml() writes the scenario as `mirfak simulate` takes it. Error(infeasible) at the row if the model is not known,
// the GPUs do not fill nodes, or their number is no multiple of tensor x pipeline x context.
Document scenario_of(const RunReading& reading, const ModelLibrary& models);

}  // namespace mirfak
