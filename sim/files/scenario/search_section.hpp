#pragma once

#include "base/document.hpp"
#include "plan/search.hpp"
#include "program/job.hpp"
#include "scenario/freed_keys.hpp"

#include <optional>

namespace mirfak {

// Least probability of fitting in memory that a search asks for, unless the scenario says something else.
inline constexpr double kDefaultFitProbability = 0.9;

// The `search` section of a scenario (README.md of this folder: every key), completed with defaults.
struct SearchSection {
  SearchSpec spec;
  double deadline_days = 0;  // for the whole training; 0: none
  double budget_usd = 0;     // for the whole training; 0: none
  bool robust = false;       // look for the strategy with the least p90 of the time too (plan/robust_choice.hpp)
  FreedKeys freed = {};      // keys of `strategy` that are stated and chosen all the same
};

// Reads the section, strictly. `job`: the job whose strategy is searched; its own strategy does not matter. Returns the
// defaults if there is no section. Error(input) at the place of the fault.
SearchSection read_search(const std::optional<Node>& section, const Job& job);

// Fixes the parameters that the `strategy` section states to the stated values. Error(input) at a key whose value is
// not in the stated space, or that a search cannot fix.
void fix_strategy(const Node& strategy, const std::optional<Node>& section, const Job& job, SearchSection& search);

// Returns the section with every key written out: reads back as the same search.
Value search_value(const SearchSection& search);

}  // namespace mirfak
