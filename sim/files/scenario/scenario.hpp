#pragma once

#include "base/document.hpp"
#include "program/job.hpp"
#include "scenario/assertions.hpp"
#include "scenario/scenario_sources.hpp"
#include "training/operations.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// A scenario file that was read, completed with defaults and checked.
struct Scenario {
  std::string name;   // name of the file
  Document document;  // the file as read, overrides applied
  Job job;
  Value completed;                       // the scenario with every default and override in place, as resolved.hpp says
  std::string resolved;                  // completed_yaml() of it: reads back as the same job
  std::optional<Operations> operations;  // the section that `mirfak train` needs; absent: the file has no such section
  std::vector<std::string> defaulted;    // keys of `resolved` that the file and the overrides leave out
  Assertions assertions = {};            // on the result of an iteration or of a training
};

// Returns the scenario's operations. Error(input) if the file has none, which also names training.tokens if that is
// missing.
const Operations& operations_of(const Scenario& scenario);

// Reads a scenario (sim/files/scenario/README.md: every key, its default, its range). `overrides` are "key=value" texts
// applied in order. Error(input) for anything that cannot be understood, Error(infeasible) for a strategy that breaks a
// rule (strategy/rules.hpp), both at the place of the fault.
Scenario load_scenario(const std::filesystem::path& path, std::span<const std::string> overrides,
                       const DataFolders& folders);
Scenario parse_scenario(const Document& document, const DataFolders& folders);
// Variants for callers that read several scenarios and share `sources` among them.
Scenario load_scenario(const std::filesystem::path& path, std::span<const std::string> overrides,
                       const ScenarioSources& sources);
Scenario parse_scenario(const Document& document, const ScenarioSources& sources);
// Reads a scenario that states no cluster, on `cluster`. Errors as above.
Scenario parse_scenario(const Document& document, const Cluster& cluster, const ScenarioSources& sources);

}  // namespace mirfak
