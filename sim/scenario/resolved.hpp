#pragma once

#include "base/document.hpp"
#include "program/job.hpp"
#include "scenario/search_section.hpp"
#include "scenario/sections.hpp"

#include <optional>
#include <string>

namespace mirfak {

// Facts that a scenario states and a job no longer knows, in a form that means the same in any file.
struct StatedSetting {
  Value model;  // a name, a path or a mapping: independent_model()
  std::optional<Value> operations = {};
  std::optional<Value> assertions = {};
};
StatedSetting stated_setting(const ScenarioSections& sections, const ScenarioSources& sources);

// The scenario of a job as YAML, every key written out: it simulates to the same bits wherever the text lies, as long
// as the files are there that it names. Files of the user stand in it by their absolute paths; what mirfak comes with,
// by name.
std::string resolved_yaml(const Job& job, const StatedSetting& stated);
// Its parts, in their order.
std::string resolved_setting(const Cluster& cluster, const Value& model);  // `model` and `cluster`
std::string resolved_training(const TrainingSpec& training);
std::string resolved_strategy(const Strategy& strategy);

// The scenario of a search: under `strategy` what the space does not vary, and the complete `search` section.
std::string resolved_search_yaml(const Job& job, const StatedSetting& stated, const SearchSection& search);

}  // namespace mirfak
