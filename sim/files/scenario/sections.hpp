#pragma once

#include "base/document.hpp"
#include "cluster/cluster.hpp"
#include "model/model_spec.hpp"
#include "scenario/assertions.hpp"
#include "scenario/scenario_sources.hpp"
#include "strategy/framework.hpp"
#include "strategy/training.hpp"
#include "training/operations.hpp"

#include <optional>
#include <string_view>

namespace mirfak {

// The sections of a scenario, each read by itself, before the program checks that they fit together. Valid as long as
// its document.
struct ScenarioSections {
  Node model_node;
  ModelSpec model;
  Cluster cluster;
  TrainingSpec training;
  Framework framework;
  Node strategy;  // an empty mapping if the scenario leaves it out
  std::optional<Node> search;
  std::optional<Operations> operations;
  std::optional<Node> operations_node;
  Assertions assertions = {};
  std::optional<Node> assertions_node = {};
  std::optional<Node> notes_node = {};
};

// Reads the sections of a document. Error(input) at the place of the fault, also at keys that no section has.
ScenarioSections read_sections(const Document& document, const ScenarioSources& sources);
// Reads a scenario that states no cluster, on `cluster`.
ScenarioSections read_sections(const Document& document, const Cluster& cluster, const ScenarioSources& sources);

// Returns the place of "strategy.tensor", or "strategy.stages[1]", in the document, or the nearest mapping around it.
Node locate(const Document& document, std::string_view path);

}  // namespace mirfak
