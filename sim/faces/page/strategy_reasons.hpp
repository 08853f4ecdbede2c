#pragma once

#include "plan/search_outcome.hpp"
#include "scenario/search_scenario.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace mirfak {

// Number of strategies whose figures a page of a search explains.
inline constexpr std::size_t kExplainedStrategies = 10;

// Returns a list of explanation_of() for the first strategies that a search found, each simulated once more. The
// explanations include `time_to_finish_s` if it was asked for.
nlohmann::ordered_json strategy_explanations(const SearchScenario& search,
                                             std::span<const SimulatedStrategy> strategies,
                                             const ScenarioSources& sources);

// Returns the page of a search: page_of() of `data` with the explanations of the strategies.
std::string strategies_page(nlohmann::ordered_json data, const SearchScenario& search,
                            std::span<const SimulatedStrategy> strategies, const ScenarioSources& sources);

}  // namespace mirfak
