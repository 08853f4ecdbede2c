#pragma once

#include "base/values.hpp"
#include "program/job.hpp"
#include "scenario/search_section.hpp"
#include "scenario/sections.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Facts that a scenario states and its job does not hold, in a form that means the same in any file.
struct StatedSetting {
  Value model;   // a name, a path or a mapping: independent_model()
  Value beside;  // mapping of the sections operations, assert and notes that the scenario has
};
StatedSetting stated_setting(const ScenarioSections& sections, const ScenarioSources& sources);

// Returns the scenario of a job as a document, every key stated: it simulates to the same bits wherever
// completed_yaml() of it lies, as long as the files that it names exist. The user's files stand in it by their absolute
// paths; mirfak's own data stands in it by name.
Value completed_scenario(const Job& job, const StatedSetting& stated);
// Returns the scenario of a search: under `strategy` the keys that the space does not vary, and the complete `search`
// section.
Value completed_search(const Job& job, const StatedSetting& stated, const SearchSection& search);

// The parts of completed_scenario(), in their order.
Value completed_setting(const Cluster& cluster, const Value& model);  // mapping of `model` and `cluster`
Value completed_cluster(const Cluster& cluster);                      // mapping of the one section
Value completed_training(const TrainingSpec& training);               // mapping of the one section
Value completed_strategy(const Strategy& strategy);                   // mapping of the one section

// Returns a completed scenario, or some of its sections, as YAML. Sections that hold what a file states are written by
// emit_yaml().
std::string completed_yaml(const Value& root);

// Returns the keys of a completed scenario that `stated` leaves out, which have a default there.
std::vector<std::string> defaulted_keys(const Value& completed, const Value& stated);

}  // namespace mirfak
