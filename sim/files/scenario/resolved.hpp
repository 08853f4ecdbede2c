#pragma once

#include "base/document.hpp"
#include "program/job.hpp"
#include "scenario/search_section.hpp"
#include "scenario/sections.hpp"

#include <optional>
#include <string>

namespace mirfak {

// Facts that a scenario states and its job does not hold, in a form that means the same in any file.
struct StatedSetting {
  Value model;  // a name, a path or a mapping: independent_model()
  std::optional<Value> operations = {};
  std::optional<Value> assertions = {};
};
StatedSetting stated_setting(const ScenarioSections& sections, const ScenarioSources& sources);

// Returns the scenario of a job as YAML, every key written out: it simulates to the same bits wherever the text lies,
// as long as the files that it names exist. The user's files stand in it by their absolute paths; mirfak's own data
// stands in it by name.
std::string resolved_yaml(const Job& job, const StatedSetting& stated);
// The parts of resolved_yaml(), in their order.
std::string resolved_setting(const Cluster& cluster, const Value& model);  // `model` and `cluster`
std::string resolved_training(const TrainingSpec& training);
std::string resolved_strategy(const Strategy& strategy);

// Returns the scenario of a search: under `strategy` the keys that the space does not vary, and the complete `search`
// section.
std::string resolved_search_yaml(const Job& job, const StatedSetting& stated, const SearchSection& search);

}  // namespace mirfak
