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

// Everything that a rule may look at.
struct RuleInput {
  const ModelSpec& model;
  const TrainingSpec& training;
  const Framework& framework;
  const Strategy& strategy;
  int gpus = 0;  // GPUs of the cluster
};

// Reason why a strategy cannot run. `key` is the scenario key to change.
struct Violation {
  std::string key;
  std::string message;
  std::string hint;
};

// Validity rule: a name, a sentence, and the check.
struct Rule {
  std::string_view name;
  std::string_view sentence;
  std::optional<Violation> (*check)(const RuleInput&);
};

// Returns all rules, in the order in which they are checked: a rule may rely on the rules before it.
std::span<const Rule> strategy_rules();

// Returns the first rule that is broken, if any.
std::optional<Violation> first_violation(const RuleInput& input);

// True if the tensor ranks of a stage send shares of an activation to the next stage, which gathers the shares: as
// stated by the strategy or, if it leaves this open, by the framework. False with sequence parallelism, where each rank
// has and keeps only its share.
bool scatters_transfers(const Strategy& strategy, const Framework& framework);

// Return the microbatches of one iteration: those of data-parallel replica `replica`, and those of the replica with the
// most. Both need a valid strategy.
int microbatches(const Strategy& strategy, const TrainingSpec& training, int replica);
int microbatches(const Strategy& strategy, const TrainingSpec& training);

// Returns the pipeline shape of a replica that runs `microbatches` microbatches. Needs a schedule that fits.
PipelineShape pipeline_shape(const Strategy& strategy, int microbatches);
// Returns the placement of the model's parts on stages. Needs a schedule that fits the number of stages and chunks.
Placement placement_of(const Strategy& strategy);

// Returns the number of parts that the model is cut into: the chunks of all stages, counting a part that several chunks
// hold once.
std::int64_t parts_of(const Strategy& strategy);

// Range of consecutive layers.
struct LayerRange {
  std::int64_t first = 0;
  std::int64_t count = 0;

  friend bool operator==(const LayerRange&, const LayerRange&) = default;
};
// Returns the number of layers of one chunk, counted in the order of the model (chunk 0 of every stage, then chunk 1,
// ...): the entry of layer_split, or the share of an even split. Needs a valid strategy.
std::int64_t layers_of_chunk(const Strategy& strategy, const ModelSpec& model, std::int64_t chunk);
// Returns the part of the model, counted likewise, that holds the word embeddings: the first, or the part of the layer
// that puts images among words.
int words_part(const Strategy& strategy, const ModelSpec& model);
// Returns the layers of each chunk of each stage: [stage][chunk]. Needs a valid strategy.
std::vector<std::vector<LayerRange>> layers_of_chunks(const Strategy& strategy, const ModelSpec& model);

}  // namespace mirfak
