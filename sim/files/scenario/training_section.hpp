#pragma once

#include "base/field_table.hpp"
#include "model/model_spec.hpp"
#include "strategy/framework_catalog.hpp"
#include "strategy/training.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

inline constexpr std::int64_t kMaxBatch = std::int64_t{1} << 30;  // sequences of an iteration

// Returns the keys of a scenario's section `training`, in the order in which resolved scenarios have them. A new key
// needs a member of TrainingSpec, an entry here, and the code that gives the key its meaning; its row in README.md is
// written from the entry.
const FieldTable<TrainingSpec, FrameworkCatalog>& training_fields();

const std::vector<std::string>& optimizer_names();  // in the order of the enumeration

// Reads the section, strictly; errors at the place of the fault. Reads the framework too.
TrainingSpec read_training(const Node& node, const ModelSpec& model, const FrameworkCatalog& frameworks);

}  // namespace mirfak
