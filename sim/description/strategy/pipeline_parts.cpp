// The functions of rules.hpp that say how a strategy cuts a pipeline: microbatches, parts and their layers.

#include "schedule/schedule.hpp"
#include "strategy/rules.hpp"

#include <algorithm>

namespace mirfak {

int microbatches(const Strategy& strategy, const TrainingSpec& training, int replica) {
  if (!strategy.replica_microbatches.empty()) {
    return strategy.replica_microbatches[static_cast<std::size_t>(replica)];
  }
  return static_cast<int>(training.global_batch / (std::int64_t{strategy.micro_batch} * strategy.data));
}

int microbatches(const Strategy& strategy, const TrainingSpec& training) {
  const std::vector<int>& counts = strategy.replica_microbatches;
  return counts.empty() ? microbatches(strategy, training, 0) : *std::max_element(counts.begin(), counts.end());
}

PipelineShape pipeline_shape(const Strategy& strategy, int microbatches) {
  PipelineShape shape;
  shape.stages = strategy.pipeline;
  shape.chunks = strategy.virtual_pipeline;
  shape.microbatches = microbatches;
  shape.group = strategy.microbatch_group > 0 ? strategy.microbatch_group : shape.stages;
  shape.max_in_flight = strategy.max_in_flight;
  return shape;
}

Placement placement_of(const Strategy& strategy) {
  return schedule_of(strategy.schedule).placement(pipeline_shape(strategy, 1));
}

std::int64_t parts_of(const Strategy& s) {
  const Schedule& schedule = schedule_of(s.schedule);
  return schedule.looped ? std::int64_t{s.pipeline} * s.virtual_pipeline : placement_of(s).parts();
}

std::int64_t layers_of_chunk(const Strategy& s, const ModelSpec& model, std::int64_t chunk) {
  if (!s.layer_split.empty()) return s.layer_split[static_cast<std::size_t>(chunk)];
  const std::int64_t chunks = parts_of(s);
  std::int64_t layers = (model.layers + s.counted_as_layers()) / chunks;
  if (s.account_for_embedding_in_pipeline_split && chunk == 0) --layers;
  if (s.account_for_loss_in_pipeline_split && chunk + 1 == chunks) --layers;
  return layers;
}

int words_part(const Strategy& strategy, const ModelSpec& model) {
  std::int64_t layers = 0;
  for (int part = 0; model.tower_layers > 0 && part < parts_of(strategy); ++part) {
    layers += layers_of_chunk(strategy, model, part);
    if (layers > model.tower_layers) return part;
  }
  return 0;
}

std::vector<std::vector<LayerRange>> layers_of_chunks(const Strategy& strategy, const ModelSpec& model) {
  const Placement placement = placement_of(strategy);
  std::vector<LayerRange> parts;
  std::int64_t first = 0;
  for (int part = 0; part < placement.parts(); ++part) {
    const std::int64_t count = layers_of_chunk(strategy, model, part);
    parts.push_back({first, count});
    first += count;
  }
  std::vector<std::vector<LayerRange>> layers(static_cast<std::size_t>(strategy.pipeline));
  for (int stage = 0; stage < strategy.pipeline; ++stage) {
    for (int chunk = 0; chunk < placement.chunks(stage); ++chunk) {
      layers[static_cast<std::size_t>(stage)].push_back(
          parts[static_cast<std::size_t>(placement.part_of(stage, chunk))]);
    }
  }
  return layers;
}

}  // namespace mirfak
