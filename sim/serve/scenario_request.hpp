#pragma once

#include "base/document.hpp"
#include "serve/scenario_edit.hpp"

#include <string>
#include <vector>

namespace mirfak::serve {

// The name of a scenario that came in a request, in all places.
inline constexpr const char* kScenarioName = "scenario";

// What the body of a request says: {"scenario": TEXT of YAML, or an object, "set": {"strategy.tensor": 4,
// "strategy.zero": null}, "time_limit_s": 20}; null takes a key out. `set` and `time_limit_s` may be left out.
struct ScenarioRequest {
  std::string text;         // of the scenario, the keys of `set` changed
  double time_limit_s = 0;  // 0: not said
};

// Error(input) for a body that is no such JSON, and for a `set` that does not fit the scenario.
ScenarioRequest read_scenario_request(const std::string& body);

// The scenario. Error(input) as Document has it, and for one of several jobs.
Document document_of(const ScenarioRequest& request);

}  // namespace mirfak::serve
