#include "scenario/planned_search.hpp"

#include "base/error.hpp"
#include "scenario/sections.hpp"

#include <fmt/format.h>

#include <string>

namespace mirfak {

void check_planned(const SearchScenario& scenario) {
  const SearchSpec& spec = scenario.search.spec;
  const auto refuse = [&](const char* key, const char* what, const char* hint) {
    locate(scenario.document, key).fail(what, std::string(hint) + ", or use --planner search");
  };
  if (spec.objective != SearchObjective::time) {
    refuse("search.objective", "Alpa's planner minimises time alone", "leave search.objective out");
  }
  if (spec.any_count) refuse("search.nodes", "Alpa's planner uses all nodes", "leave search.nodes out");
  const char* const limits = "Alpa's planner knows no limits of cost, time or power";
  if (spec.budget_usd > 0) refuse("search.budget_usd", limits, "leave it out");
  if (spec.deadline_s > 0) refuse("search.deadline_days", limits, "leave it out");
  if (spec.power_cap_w > 0) refuse("search.power_cap_w", limits, "leave it out");
  for (const PowerLimitKey& limit : kPowerLimitKeys) {
    if (spec.power_limits.*limit.of > 0) refuse(fmt::format("search.{}", limit.key).c_str(), limits, "leave it out");
  }
  if (spec.tolerance > 0) refuse("search.tolerance", "a tolerance is for the exact search", "leave it out");
}

}  // namespace mirfak
