#include "plan/branch.hpp"

#include "plan/layout_bound.hpp"
#include "plan/microbatch_shares.hpp"
#include "program/memory.hpp"

#include <algorithm>
#include <map>

namespace mirfak {

Branch::Branch(std::shared_ptr<const LayoutCosts> layout, const Strategy& strategy, const StrategySpace& space,
               SharedBlocks& shared, const EnergyAsked& energy, const MemoryLimit& limit)
    : layout_(std::move(layout)),
      job_(layout_->job),
      energy_(energy),
      shares_(microbatch_shares(layout_->classes, job_.training.global_batch / strategy.micro_batch)),
      plain_(space.loops()),
      limit_(limit) {
  job_.strategy = strategy;
  for (int stage = 0; stage < static_cast<int>(strategy.stages.size()); ++stage) {
    if (shape_of(stage) == jobs_.size()) jobs_.push_back(job_.at(stage));
  }
  bound_at_will(space, shared);
}

// Divides all microbatches over the replicas, and their passes over the stages, in proportion to speed. Nothing is
// recomputed that need not be.
void Branch::bound_at_will(const StrategySpace& space, SharedBlocks& shared) {
  constexpr double picoseconds_per_second = 1e12;
  const bool plain = space.plain();
  // Communication may overlap with the kernels of other passes, or with gradients of weights.
  const auto shortest_of = [&](const LayerBound::Terms& all) {
    return plain ? all.device.back() : to_picoseconds(all.kernels_s);
  };
  for (const std::size_t place : layout_->first_of_kind) {
    const Job& job = job_at(stage_of(place));
    layer_terms_.push_back(shared.layers_of(job)->on(job, layout_->costs[place], energy_));
  }
  double speed = 0;  // microbatches a picosecond
  for (std::size_t place = 0; place < layout_->costs.size(); ++place) {
    const LayerBound::Terms& all = *layer_terms_[kind_of(place)];
    const ReplicaClass& own = layout_->classes[place % layout_->classes.size()];
    const double of_place = own.count() / static_cast<double>(shortest_of(all));
    speed += of_place;
    work_places_.push_back({of_place * picoseconds_per_second, all.energy_j * ranks_per_replica(stage_of(place))});
  }
  merge_alike(work_places_);
  min_energy_j_ = least_energy(work_places_, microbatches(), 0, 0) * kRounding;
  bound_ = static_cast<Picoseconds>(microbatches() / speed * kRounding);
}

PipelineShape Branch::shape(const PipelineChoice& choice, int replica_class) const {
  PipelineShape out = pipeline_shape(job_.strategy, choice.microbatches_of(replica_class));
  out.chunks = choice.chunks;
  return out;
}

bool Branch::may_fit(std::span<const StateChoice> choices, SharedBlocks& shared) const {
  std::map<std::size_t, LayerBytes> bytes;  // by shape
  const auto bytes_of = [&](int stage) {
    const auto [known, is_new] = bytes.try_emplace(shape_of(stage));
    if (is_new) {
      const Job& job = job_at(stage);
      const std::shared_ptr<LayerBound> layers = shared.layers_of(job);
      known->second = {layers->min_state(job, choices), layers->min_kept(job.strategy, plain_)};
    }
    return known->second;
  };
  for (int own = 0; own < layout_->count(); ++own) {
    const auto index = static_cast<std::size_t>(own);
    int microbatches = job_.strategy.pipeline;
    for (const auto& share : shares_) microbatches = std::min(microbatches, (*share)[index]);
    std::vector<StageRoom> stages;
    for (int stage = 0; stage < job_.strategy.pipeline; ++stage) {
      const StageCosts& costs = layout_->costs[layout_->place(stage, own)];
      const double platform = job_.framework.memory.platform_bytes;
      const double usable = limit_.of_device(costs.hardware->hardware.gpu.memory_bytes.value, platform);
      stages.push_back({usable - platform, bytes_of(stage)});
    }
    if (!layers_may_fit(stages, job_.model.layers, microbatches)) return false;
  }
  return true;
}

}  // namespace mirfak
