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

// A scenario file, read, completed with defaults and checked.
struct Scenario {
  std::string name;   // of the file
  Document document;  // as read, overrides applied
  Job job;
  std::string resolved;  // the scenario as YAML with every default written out and overrides applied: reads back
                         // as the same job
  std::optional<Operations> operations;  // what `mirfak train` adds; absent: the file has no such section
  std::vector<std::string> defaulted;    // keys of `resolved` that the file and the overrides leave out
  Assertions assertions = {};            // on the result of an iteration
};

// Its operations. Error(input) where the file has none.
const Operations& operations_of(const Scenario& scenario);

// Reads a scenario (sim/scenario/README.md: every key, its default, its range). `overrides` are "key=value" texts
// applied in order. Error(input) for anything that cannot be understood, Error(infeasible) for a strategy that
// breaks a rule (strategy/rules.hpp), both at the place that is wrong.
Scenario load_scenario(const std::filesystem::path& path, std::span<const std::string> overrides,
                       const DataFolders& folders);
Scenario parse_scenario(const Document& document, const DataFolders& folders);
// The same for who reads several.
Scenario load_scenario(const std::filesystem::path& path, std::span<const std::string> overrides,
                       const ScenarioSources& sources);
Scenario parse_scenario(const Document& document, const ScenarioSources& sources);
// A scenario without a cluster, on this one. Errors as above.
Scenario parse_scenario(const Document& document, const Cluster& cluster, const ScenarioSources& sources);

}  // namespace mirfak
