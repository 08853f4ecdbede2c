#include "comparison/compared_scenario.hpp"

#include "base/error.hpp"
#include "scenario/jobs_file.hpp"

#include <utility>

namespace mirfak {

ComparedScenario compared_scenario(Document document, std::span<const std::string> own,
                                   const ScenarioSources& sources) {
  std::string name = document.name();
  for (const std::string& assignment : own) {
    document.override_value(assignment);
    name += (&assignment == own.data() ? " with " : ", ") + assignment;
  }
  if (has_jobs(document)) {
    fail_input({document.name(), 0, 0}, "holds several jobs, and differences are of one",
               "compare the jobs' own scenarios; simulate says what jobs do to each other");
  }
  Scenario scenario = parse_scenario(document, sources);
  Simulation simulation = simulate(scenario.job);
  return {std::move(scenario), std::move(simulation), std::move(name)};
}

}  // namespace mirfak
