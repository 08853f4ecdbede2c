#pragma once

#include "base/document.hpp"
#include "model/model_spec.hpp"
#include "strategy/framework_catalog.hpp"
#include "strategy/training.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

inline constexpr std::int64_t kMaxBatch = std::int64_t{1} << 30;  // sequences of an iteration

// Reads the `training` section of a scenario, strictly; errors at the place of the fault. Reads the framework too.
TrainingSpec read_training(const Node& node, const ModelSpec& model, const FrameworkCatalog& frameworks);

const std::vector<std::string>& optimizer_names();    // in the order of the enumeration
const std::vector<std::string>& cuda_graph_scopes();  // words of training.cuda_graphs

}  // namespace mirfak
