#pragma once

#include "model/model_spec.hpp"
#include "strategy/framework.hpp"
#include "strategy/strategy.hpp"
#include "strategy/training.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

class Placement;
struct PipelineShape;

// Everything a rule may look at.
struct RuleInput {
  const ModelSpec& model;
  const TrainingSpec& training;
  const Framework& framework;
  const Strategy& strategy;
  int gpus = 0;  // of the cluster
};

// Why a strategy cannot run. `key` is the scenario key to change.
struct Violation {
  std::string key;
  std::string message;
  std::string hint;
};

// One validity rule: a name, a sentence, and the check.
struct Rule {
  std::string_view name;
  std::string_view sentence;
  std::optional<Violation> (*check)(const RuleInput&);
};

// All rules, in the order in which they are checked: later ones may rely on earlier ones.
std::span<const Rule> strategy_rules();

// The first rule broken, if any.
std::optional<Violation> first_violation(const RuleInput& input);

// Whether the tensor ranks of a stage send shares of an activation to the next, which gathers them: as the strategy
// says, or the framework does. With sequence parallelism each has its share only, and keeps it.
bool scatters_transfers(const Strategy& strategy, const Framework& framework);

// Microbatches of one iteration: of data-parallel replica `replica`, and of the one that has most. Need a valid
// strategy.
int microbatches(const Strategy& strategy, const TrainingSpec& training, int replica);
int microbatches(const Strategy& strategy, const TrainingSpec& training);

// Of one replica that runs so many microbatches. Needs a schedule that fits.
PipelineShape pipeline_shape(const Strategy& strategy, int microbatches);
// Where the parts of the model lie. Needs a schedule that fits the number of stages and chunks.
Placement placement_of(const Strategy& strategy);

// How many parts the model is cut into: chunks of all stages, but that some hold the same part.
std::int64_t parts_of(const Strategy& strategy);

// Layers in a row.
struct LayerRange {
  std::int64_t first = 0;
  std::int64_t count = 0;

  friend bool operator==(const LayerRange&, const LayerRange&) = default;
};
// The layers of one chunk, counted in the order of the model (chunk 0 of every stage, then chunk 1, ...): those of
// layer_split, or of an even split. Needs a valid strategy.
std::int64_t layers_of_chunk(const Strategy& strategy, const ModelSpec& model, std::int64_t chunk);
// The layers of each chunk of each stage: [stage][chunk]. Needs a valid strategy.
std::vector<std::vector<LayerRange>> layers_of_chunks(const Strategy& strategy, const ModelSpec& model);

}  // namespace mirfak
