#pragma once

#include "import/option_reader.hpp"
#include "scenario/scenario_sources.hpp"

#include <string_view>

namespace mirfak {

// Returns how a program tunes by preferences, the entry of `kinds` that its option's word or its name has; null: it
// trains otherwise. `section`: `preferences` of the program's facts (hw_profiles/launch/README.md).
const Value* preference_kind(OptionReader& options, const Value& section, std::string_view program);

// Reads the options that such a program has: training.preferences, and the head of a model that scores. Call this
// function when model and adapters are read.
void read_preferences(OptionReader& options, const Value& section, const Value& kind, const ScenarioSources& sources);

}  // namespace mirfak
