#pragma once

#include "plan/search_outcome.hpp"
#include "scenario/search_scenario.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace mirfak {

// Of how many strategies a page of a search says what stands behind their figures.
inline constexpr std::size_t kExplainedStrategies = 10;

// explanation_of() of the first of the strategies that a search found, in a list, each simulated once more; also of
// `time_to_finish_s`, where that was asked for.
nlohmann::ordered_json strategy_explanations(const SearchScenario& search,
                                             std::span<const SimulatedStrategy> strategies,
                                             const ScenarioSources& sources);

// page_of() data of a search with these explanations of its strategies.
std::string strategies_page(nlohmann::ordered_json data, const SearchScenario& search,
                            std::span<const SimulatedStrategy> strategies, const ScenarioSources& sources);

}  // namespace mirfak
