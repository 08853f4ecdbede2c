#pragma once

#include "scenario/scenario.hpp"
#include "scenario/search_scenario.hpp"
#include "simulation/iteration.hpp"

#include <functional>
#include <string>
#include <vector>

namespace mirfak {

// A key that a scenario states although it has no effect on the job.
struct IdleKey {
  std::string key;    // "strategy.microbatch_group", "cluster.nodes[0].network"
  std::string value;  // the value as the file or the override writes it
  Location where;
};

// Returns the keys of `cluster`, `training` and `strategy` that change nothing, in the order of the file: they have
// another value than their default, and the iteration has the same time, memory, power and cost without them, to the
// last bit. Each key is tested by leaving it out, so that a key added later is tested too; keys that divide the job or
// say what is computed always act and are not tested. `result` is that of simulate(scenario.job), with its default
// lowering.
std::vector<IdleKey> idle_keys(const Scenario& scenario, const ScenarioSources& sources, const IterationResult& result);

// True if what a document describes would differ without a key of it; `without`: the document that lacks the key. An
// Error says that the key is needed.
using ActsWithout = std::function<bool(const Document& without, const std::string& key)>;
// Finds the keys of `cluster`, `training` and `strategy` that a document states and that do not act.
std::vector<IdleKey> idle_keys(const Document& document, const DataFolders& folders, const ActsWithout& acts);

// Returns "job.yaml:7:21: strategy.microbatch_group: 4 changes nothing in this job"
std::string note_on(const IdleKey& idle);
// Returns the notes that the scenario states, the notes on entries of the model's file without effect, and a note on
// each idle key.
std::vector<std::string> notes_on_keys(const Scenario& scenario, const ScenarioSources& sources,
                                       const IterationResult& result);

// Returns the same notes for a search whose best strategy is `found`: on the keys that the search's file states.
std::vector<std::string> notes_on_keys(const SearchScenario& search, const Job& found, const ScenarioSources& sources);

}  // namespace mirfak
