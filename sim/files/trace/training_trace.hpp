#pragma once

#include "scenario/scenario.hpp"
#include "training/prediction.hpp"

#include <filesystem>

namespace mirfak {

// Writes the run of the median end, and the data that all runs have in common, as HDF5 (README.md has the schema). The
// file appears whole or not at all.
void write_training_trace(const std::filesystem::path& path, const Scenario& scenario,
                          const TrainingPrediction& prediction);

}  // namespace mirfak
