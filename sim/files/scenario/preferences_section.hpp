#pragma once

#include "strategy/training.hpp"

#include "base/field_table.hpp"
#include "base/yaml.hpp"

namespace mirfak {

// The keys of `training.preferences`: how answers to one prompt are compared.
const FieldTable<Preferences>& preference_fields();

// Refuses a reference that reads without adapters where there are none. `training`: the section, as it was read.
void check_preferences(const Node& node, const TrainingSpec& training);

}  // namespace mirfak
