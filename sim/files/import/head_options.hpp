#pragma once

#include "import/option_reader.hpp"
#include "scenario/scenario_sources.hpp"

#include <cstdint>

namespace mirfak {

// Puts so many labels of sequences in the place of the model's head (models/README.md, `head`). A model that is a file
// keeps its own head, which has to be such labels: an obstacle if not. Call this function when the model is read.
void put_head(OptionReader& options, std::int64_t labels, const ScenarioSources& sources);

// Reads the options by which a tool trains a model with labels of sequences. `section`: `labels` of the tool's facts
// (hw_profiles/launch/README.md), or null. Returns true if the model has such labels. Error(input) for a number of
// labels that is none.
bool read_labels(OptionReader& options, const Value& section, const ScenarioSources& sources);

}  // namespace mirfak
