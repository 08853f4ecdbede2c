#pragma once

#include "scenario/scenario.hpp"
#include "scenario/search_scenario.hpp"
#include "simulation/iteration.hpp"

#include <string>
#include <vector>

namespace mirfak {

// A key that a scenario states and that its job does not depend on.
struct IdleKey {
  std::string key;    // "strategy.microbatch_group", "cluster.nodes[0].network"
  std::string value;  // as the file or the override writes it
  Location where;
};

// The keys of `cluster`, `training` and `strategy` that are stated with another value than their default, and without
// which the iteration takes, holds, draws and costs the same, to the last bit. Found by leaving out one key after the
// other, so that a key added later is looked at too; only those that divide the job or say what is computed, which
// always act, are taken at their word. `result` is that of simulate(scenario.job), with its default
// lowering. In the order of the file.
std::vector<IdleKey> idle_keys(const Scenario& scenario, const ScenarioSources& sources, const IterationResult& result);

// "job.yaml:7:21: strategy.microbatch_group: 4 changes nothing in this job"
std::string note_on(const IdleKey& idle);
// The notes that the scenario states, those on what the model's file says without effect, and one on each idle key.
std::vector<std::string> notes_on_keys(const Scenario& scenario, const ScenarioSources& sources,
                                       const IterationResult& result);

// ... and of a search, whose best strategy `found` is: of the keys that its file states.
std::vector<std::string> notes_on_keys(const SearchScenario& search, const Job& found, const ScenarioSources& sources);

}  // namespace mirfak
