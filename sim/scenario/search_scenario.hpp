#pragma once

#include "plan/search.hpp"
#include "scenario/data_folders.hpp"
#include "scenario/scenario.hpp"
#include "scenario/search_section.hpp"

#include <filesystem>
#include <span>
#include <string>

namespace mirfak {

// A scenario file as a search understands it: what stands under `strategy` is fixed, `search` bounds the rest.
struct SearchScenario {
  std::string name;   // of the file
  Document document;  // as read, overrides applied
  Job job;            // what to train, and on which cluster; its strategy does not matter
  SearchSection search;
  std::string resolved;        // as YAML with every default and limit written out: reads back as the same search
  Assertions assertions = {};  // on an iteration of the best strategy
};

// Errors as load_scenario() has them, but no rule is asked about the strategy: that is what the search does.
SearchScenario load_search(const std::filesystem::path& path, std::span<const std::string> overrides,
                           const DataFolders& folders);
SearchScenario parse_search(const Document& document, const DataFolders& folders);

// A strategy that the search found as a scenario, which reads back as the same job wherever it stands.
std::string found_scenario(const SearchScenario& scenario, const Job& found);

// The same, read: what `mirfak simulate` would make of it.
Scenario as_scenario(const SearchScenario& search, const Job& found, const ScenarioSources& sources);

}  // namespace mirfak
