#pragma once

#include "plan/layer_splits.hpp"
#include "plan/strategy_space.hpp"
#include "program/replica_classes.hpp"
#include "schedule/schedule.hpp"
#include "strategy/rules.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace mirfak {

// Layers of each chunk that are recomputed, as in Strategy.
struct RecomputedLayers {
  int layers = 0;
  RecomputeMethod method = RecomputeMethod::block;

  friend bool operator==(const RecomputedLayers&, const RecomputedLayers&) = default;
};

// Spread of a branch's layers over chunks, and the layers that are recomputed.
struct PipelineChoice {
  int chunks = 1;
  ScheduleId schedule = kDefaultSchedule;
  // Placement of the chunks, for schedules whose chunks do not lie in a loop: all their chunks have equally many
  // layers.
  std::shared_ptr<const Placement> placement;
  RecomputedLayers recompute_layers;
  // Layers of each stage's chunks: all chunks of a stage have equally many, except at the pipeline's ends.
  LayerSplit layers;
  // Microbatches of one replica of each class.
  std::shared_ptr<const std::vector<int>> microbatches;
  // Numbers of layers that the very first and the very last chunk have fewer than the other chunks of their stages.
  int first_fewer = 0;
  int last_fewer = 0;
  // Alternatives for `recompute_layers`: numbers of layers in ascending order, then all layers (0), then all layers in
  // groups; no alternative is faster than the one before it. If several group sizes divide the chunks into equally many
  // groups, only the smallest is listed: the larger ones take as long and need more memory.
  std::shared_ptr<const std::vector<RecomputedLayers>> row;

  // Returns the first layer of every stage's first chunk, as if no chunk had fewer layers, followed by the number of
  // layers of one round.
  std::vector<int> begins() const;
  // Returns the layers of one chunk. Chunks lie in the order of the model, chunk 0 of every stage first.
  LayerRange layers_of(std::span<const int> begins, int stage, int chunk) const;
  int chunks_of(int stage) const { return placement ? placement->chunks(stage) : chunks; }
  bool holds_embedding(int stage, int chunk) const;
  bool holds_head(int stage, int chunk) const;
  // Returns true if passes go through a loop of stages, as forward and whole backward passes in some order: only then
  // do the closest bounds hold.
  bool plain() const;
  // Inline because bounds call it millions of times.
  int layers_of_stage(int stage) const {
    const auto place = static_cast<std::size_t>(stage);
    if (placement) return placement->chunks(stage) * layers->front();
    return chunks * (*layers)[place] - (stage == 0 ? first_fewer : 0) - (place + 1 == layers->size() ? last_fewer : 0);
  }
  int layers_of_first_chunk(int stage) const {  // for chunks in a loop
    const auto place = static_cast<std::size_t>(stage);
    const bool last = place + 1 == layers->size() && chunks == 1;
    return (*layers)[place] - (stage == 0 ? first_fewer : 0) - (last ? last_fewer : 0);
  }
  int microbatches_of(int replica_class) const { return (*microbatches)[static_cast<std::size_t>(replica_class)]; }
  void apply_to(Strategy& strategy, std::span<const ReplicaClass> classes) const;
};

// Returns every way of a space to spread `layers` of a model over stages, with the microbatches left open, each with
// the first choice of its row. `hardware_of`: a number for each stage, as for layer_splits(). `most`: the most layers
// of each stage of a plain pipeline; empty: any number.
std::vector<PipelineChoice> pipeline_choices(const StrategySpace& space, std::int64_t layers,
                                             std::span<const int> hardware_of, Recompute recompute,
                                             std::span<const int> most = {});

}  // namespace mirfak
