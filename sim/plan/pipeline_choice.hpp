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

// Which layers of each chunk are recomputed, as in Strategy.
struct RecomputedLayers {
  int layers = 0;
  RecomputeMethod method = RecomputeMethod::block;

  friend bool operator==(const RecomputedLayers&, const RecomputedLayers&) = default;
};

// How the layers of a branch are spread over chunks, and which of them are recomputed.
struct PipelineChoice {
  int chunks = 1;
  ScheduleId schedule = kDefaultSchedule;
  // Of schedules whose chunks lie otherwise than in a loop: where. All their chunks have equally many layers.
  std::shared_ptr<const Placement> placement;
  RecomputedLayers recompute_layers;
  // Layers of each stage's chunks: all chunks of a stage have the same but the pipeline's ends.
  LayerSplit layers;
  // Of each class of replicas, of one of them.
  std::shared_ptr<const std::vector<int>> microbatches;
  // Layers that the very first and the very last chunk have fewer than their stages' others.
  int first_fewer = 0;
  int last_fewer = 0;
  // What could be recomputed instead. Numbers of layers, ascending, then all of them (0), then all in groups, none
  // faster than the one before. Of groups that chunks fall into equally many of, the smallest alone: those take as long
  // and need more memory.
  std::shared_ptr<const std::vector<RecomputedLayers>> row;

  // The first layer of every stage's first chunk, as if no chunk had fewer, and behind them those of one round.
  std::vector<int> begins() const;
  // Of one chunk. Chunks lie in the order of the model, chunk 0 of every stage first.
  LayerRange layers_of(std::span<const int> begins, int stage, int chunk) const;
  int chunks_of(int stage) const { return placement ? placement->chunks(stage) : chunks; }
  bool holds_embedding(int stage, int chunk) const;
  bool holds_head(int stage, int chunk) const;
  // Whether passes go through a loop of stages, forward and whole backward passes in some order: what the closest
  // bounds are for.
  bool plain() const;
  // Here, because bounds ask for millions of them.
  int layers_of_stage(int stage) const {
    const auto place = static_cast<std::size_t>(stage);
    if (placement) return placement->chunks(stage) * layers->front();
    return chunks * (*layers)[place] - (stage == 0 ? first_fewer : 0) - (place + 1 == layers->size() ? last_fewer : 0);
  }
  int layers_of_first_chunk(int stage) const {  // of chunks in a loop
    const auto place = static_cast<std::size_t>(stage);
    const bool last = place + 1 == layers->size() && chunks == 1;
    return (*layers)[place] - (stage == 0 ? first_fewer : 0) - (last ? last_fewer : 0);
  }
  int microbatches_of(int replica_class) const { return (*microbatches)[static_cast<std::size_t>(replica_class)]; }
  void apply_to(Strategy& strategy, std::span<const ReplicaClass> classes) const;
};

// Every way to spread `layers` of a model over stages that a space has, its microbatches left open, each with the first
// of its row. `hardware_of`: of each stage, as for layer_splits().
std::vector<PipelineChoice> pipeline_choices(const StrategySpace& space, std::int64_t layers,
                                             std::span<const int> hardware_of, Recompute recompute);

}  // namespace mirfak
