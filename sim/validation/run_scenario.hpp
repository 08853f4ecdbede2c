#pragma once

#include "base/document.hpp"
#include "validation/run_model.hpp"
#include "validation/run_reading.hpp"

namespace mirfak {

// The scenario that a completed reading of a row describes. Values keep the places of the cells and of the mapping
// files that they come from; to_yaml() writes it as `mirfak simulate` takes it. Error(infeasible) at the row where the
// model is not known, the GPUs make no nodes, or they are no multiple of tensor x pipeline x context.
Document scenario_of(const RunReading& reading, const ModelLibrary& models);

}  // namespace mirfak
