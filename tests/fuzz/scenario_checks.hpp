// The checks that every scenario passes, however a fuzz target came by it.

#pragma once

#include "base/document.hpp"
#include "base/error.hpp"
#include "require.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "simulation/laws.hpp"
#include "strategy/rules.hpp"
#include "support/source_root.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace mirfak {

inline const DataFolders& shipped_folders() {
  static const DataFolders folders{source_root() + "/models", source_root() + "/hw_profiles"};
  return folders;
}

// Parses a text as if it stood in a folder that does not exist, so that no path relative to it does.
inline Scenario parse(std::string text) {
  return parse_scenario(Document::from_text(std::move(text), "none/s.yaml"), shipped_folders());
}

// Reads a scenario; nothing where the text is refused, with its place.
inline std::optional<Scenario> scenario_of(const std::string& text) {
  try {
    return parse(text);
  } catch (const Error& error) {
    require(error.kind() != ErrorKind::internal && error.where().known(), error.what());
    return std::nullopt;
  }
}

inline bool is_small(const Job& job) {
  const std::int64_t passes =
      std::int64_t{job.strategy.pipeline} * job.strategy.virtual_pipeline * microbatches(job.strategy, job.training);
  return job.strategy.ranks() <= 64 && passes * job.strategy.ranks() <= 10'000;
}

// A small job takes the same time folded and unfolded, with figures that physics allows, or is refused.
inline void check_simulation(const Job& job) {
  try {
    const Simulation folded = simulate(job);
    const Simulation unfolded = simulate(job, {.unfolded = true, .operators = false});
    // Shares of links are floating-point numbers, added up in another order where each rank has its own.
    const Picoseconds rounding = folded.program.shares_links() ? 1 + folded.timeline.makespan / 1'000'000'000 : 0;
    require(std::abs(folded.timeline.makespan - unfolded.timeline.makespan) <= rounding);
    const IterationResult& result = folded.result;
    require(std::isfinite(result.iteration_time_s) && result.iteration_time_s > 0);
    require(std::isfinite(result.energy_j) && result.mfu > 0 && result.mfu < 1 && result.hfu >= result.mfu);
  } catch (const Error& error) {
    require(error.kind() != ErrorKind::internal, error.what());
  }
}

// A scenario says the same once it is resolved, and is simulated where that takes little.
inline void check_scenario(const std::string& text) {
  const std::optional<Scenario> scenario = scenario_of(text);
  if (!scenario) return;
  require(parse(scenario->resolved).resolved == scenario->resolved);
  if (is_small(scenario->job)) check_simulation(scenario->job);
}

}  // namespace mirfak
