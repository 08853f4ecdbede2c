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

// What a scenario says, section by section, before anyone asks how the sections go together. Valid as long as its
// document.
struct ScenarioSections {
  Node model_node;
  ModelSpec model;
  Cluster cluster;
  TrainingSpec training;
  Framework framework;
  Node strategy;  // an empty mapping where the scenario leaves it out
  std::optional<Node> search;
  std::optional<Operations> operations;
  std::optional<Node> operations_node;
  Assertions assertions = {};
  std::optional<Node> assertions_node = {};
};

// Error(input) at the place of the fault, at keys that no section has too.
ScenarioSections read_sections(const Document& document, const ScenarioSources& sources);
// Reads a scenario without a cluster, which is this one.
ScenarioSections read_sections(const Document& document, const Cluster& cluster, const ScenarioSources& sources);

// The place of "strategy.tensor", or "strategy.stages[1]", in the document, or of the nearest mapping around it.
Node locate(const Document& document, std::string_view path);

}  // namespace mirfak
