#pragma once

#include "base/document.hpp"
#include "program/job.hpp"
#include "scenario/search_section.hpp"

#include <string>

namespace mirfak {

// The scenario of a job as YAML, every key written out. `model`: the model as the scenario states it, a
// name, a path or a mapping.
std::string resolved_yaml(const Job& job, const Node& model);
// Its parts, in their order.
std::string resolved_setting(const Cluster& cluster, const Node& model);  // `model` and `cluster`
std::string resolved_training(const TrainingSpec& training);
std::string resolved_strategy(const Strategy& strategy);

// The scenario of a search: under `strategy` what the space does not vary, and the complete `search` section.
std::string resolved_search_yaml(const Job& job, const Node& model, const SearchSection& search);

}  // namespace mirfak
