#pragma once

#include "plan/robust_choice.hpp"
#include "scenario/data_folders.hpp"
#include "scenario/resolved.hpp"
#include "scenario/scenario.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// The job that a scenario states, for a search that chooses some of its strategy (FreedKeys).
struct StatedJob {
  std::optional<Job> job;  // the job as `mirfak simulate` reads it; nothing: it cannot run
  std::string refused;     // the reason why it cannot run
};

// A scenario file as a search reads it: the keys under `strategy` are fixed, `search` bounds all others.
struct SearchScenario {
  std::string name;   // name of the file
  Document document;  // the file as read, overrides applied
  Job job;            // the training and its cluster; its strategy does not matter
  SearchSection search;
  StatedSetting stated;
  std::string resolved;                 // YAML with every default and limit written out: reads back as the same search
  Assertions assertions = {};           // on an iteration of the best strategy
  std::vector<std::string> notes = {};  // changes to the space that the file does not state
  Perturbations perturbations = {};     // those that a robust search draws; its job has none
  std::optional<StatedJob> baseline = {};  // if the search frees keys that are stated
};

// Errors as of load_scenario(), but the rules on the strategy are not checked here: the search checks them.
SearchScenario load_search(const std::filesystem::path& path, std::span<const std::string> overrides,
                           const DataFolders& folders);
SearchScenario parse_search(const Document& document, const DataFolders& folders);

// Searches, and simulates the strategies found and the baseline: search_and_simulate() of plan/.
SearchOutcome search_and_simulate(const SearchScenario& scenario, int threads = 0, const SearchProgress& progress = {},
                                  const SearchStop& stop = {});

// Returns a strategy that the search found as the text of a scenario, which reads back as the same job wherever the
// text lies.
std::string found_scenario(const SearchScenario& scenario, const Job& found);

// Returns a strategy that the search found as a scenario, as `mirfak simulate` would read it.
Scenario as_scenario(const SearchScenario& search, const Job& found, const ScenarioSources& sources);

}  // namespace mirfak
