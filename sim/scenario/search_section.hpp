#pragma once

#include "base/document.hpp"
#include "plan/search.hpp"
#include "program/job.hpp"

#include <optional>
#include <string>

namespace mirfak {

// The `search` section of a scenario (README.md of this folder: every key), completed with defaults.
struct SearchSection {
  SearchSpec spec;
  double deadline_days = 0;  // of the whole training; 0: none
  double budget_usd = 0;     // of the whole training; 0: none
};

// Reads the section, strictly. `job`: what is searched for; its strategy does not matter. Without a section: the
// defaults. Error(input) at the place of the fault.
SearchSection read_search(const std::optional<Node>& section, const Job& job);

// Fixes the parameters that the `strategy` section states to the values that it states. Error(input) at a key that
// the space has without that value, or that a search cannot fix.
void fix_strategy(const Node& strategy, const std::optional<Node>& section, const Job& job, SearchSection& search);

// The section with every key written out: reads back as the same search.
std::string search_yaml(const SearchSection& search);

}  // namespace mirfak
