#pragma once

#include "energy/clocked_program.hpp"
#include "scenario/scenario.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// What a frontier is computed for, and what to call it.
struct ClockedSubject {
  std::string title;
  ClockedProgram clocked;
  std::vector<double> stragglers;
  std::vector<std::string> notes;
};

// Of a scenario's job. `stragglers`: how many times as long other pipelines take; none: what cluster.perturbations make
// of the iteration. Errors as of clocked_program().
ClockedSubject clocked_subject(const Scenario& scenario, const ScenarioSources& sources,
                               std::span<const double> stragglers);

// "1 stage", "8 stages", "12 microbatches"
std::string counted_text(std::int64_t count, const std::string& noun);

}  // namespace mirfak
