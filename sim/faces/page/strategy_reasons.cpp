#include "page/strategy_reasons.hpp"

#include "base/parallel.hpp"
#include "base/units.hpp"
#include "page/figure_reasons.hpp"
#include "page/page_data.hpp"
#include "simulation/iteration.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

void add_finish(const FoundStrategy& found, Json& figures) {
  if (found.finish_s <= 0) return;
  figures["time_to_finish_s"] = {
      {"meaning",
       "The whole training, expected in closed form: its iterations, what failures take back, saves, restarts and "
       "planned pauses. `mirfak train` simulates it and says where the time goes."},
      {"formula", fmt::format("iterations of {} each, and what happens between them: {}",
                              format_seconds(found.iteration_time_s), format_seconds(found.finish_s))},
      {"see", Json::array()}};
}

}  // namespace

nlohmann::ordered_json strategy_explanations(const SearchScenario& search,
                                             std::span<const SimulatedStrategy> strategies,
                                             const ScenarioSources& sources) {
  std::vector<Json> made(std::min(kExplainedStrategies, strategies.size()));
  parallel_for(made.size(), [&](std::size_t i) {
    const FoundStrategy& found = strategies[i].found;
    const Scenario scenario = as_scenario(search, found.job, sources);
    made[i] = explanation_of(scenario, simulate(scenario.job));
    add_finish(found, made[i]["figures"]);
  });
  return made;
}

std::string strategies_page(nlohmann::ordered_json data, const SearchScenario& search,
                            std::span<const SimulatedStrategy> strategies, const ScenarioSources& sources) {
  data["explanations"] = strategy_explanations(search, strategies, sources);
  return page_of(data);
}

}  // namespace mirfak
