#include "plan/branch.hpp"

#include "plan/microbatch_shares.hpp"
#include "program/memory.hpp"

#include <algorithm>
#include <map>

namespace mirfak {

namespace {

// Returns the costs of a layout with the channels that a strategy leaves to collectives.
std::shared_ptr<const LayoutCosts> with_channels(std::shared_ptr<const LayoutCosts> layout, const Strategy& strategy) {
  Strategy sized = layout->job.strategy;
  if (sized.communication_sms == strategy.communication_sms) return layout;
  sized.communication_sms = strategy.communication_sms;
  return std::make_shared<const LayoutCosts>(layout->job, sized);
}

}  // namespace

Branch::Branch(std::shared_ptr<const LayoutCosts> layout, const Strategy& strategy, const StrategySpace& space,
               SharedBlocks& shared, const EnergyAsked& energy, const MemoryLimit& limit)
    : layout_(with_channels(std::move(layout), strategy)),
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

std::vector<Branch::ClassRoom> Branch::rooms(std::span<const StateChoice> choices, SharedBlocks& shared) const {
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
  std::vector<ClassRoom> out(static_cast<std::size_t>(layout_->count()));
  for (std::size_t own = 0; own < out.size(); ++own) {
    out[own].microbatches = job_.strategy.pipeline;
    for (const auto& share : shares_) out[own].microbatches = std::min(out[own].microbatches, (*share)[own]);
    for (int stage = 0; stage < job_.strategy.pipeline; ++stage) {
      const StageCosts& costs = layout_->costs[layout_->place(stage, static_cast<int>(own))];
      const double platform = job_.framework.memory.platform_bytes;
      const double capacity = costs.hardware->hardware.gpu.memory_bytes.value;
      out[own].stages.push_back({limit_.of_device(capacity, platform) - platform, bytes_of(stage)});
      out[own].capacities.push_back(capacity);
    }
  }
  return out;
}

bool Branch::may_fit(std::span<const StateChoice> choices, SharedBlocks& shared) const {
  const std::vector<ClassRoom> classes = rooms(choices, shared);
  return std::all_of(classes.begin(), classes.end(), [&](const ClassRoom& of) {
    return layers_may_fit(of.stages, job_.model.layers, of.microbatches);
  });
}

namespace {

// Returns a value with which `fits` is false, close below the least with which `fits` is true, or above `most`. `fits`
// is false for 0, and stays true once it is.
template <typename Fits>
double largest_that_does_not(double most, const Fits& fits) {
  constexpr int kHalvings = 40;
  double low = 0;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + most) / 2;
    (fits(middle) ? most : low) = middle;
  }
  return low;
}

}  // namespace

// The layers are divided over the stages as suits the stages best. With so many more bytes on every device, or with so
// large a share of every device, the layers would just fit.
Lack Branch::least_lack(std::span<const StateChoice> choices, SharedBlocks& shared) const {
  constexpr double kMaxBytes = 1e15;
  constexpr double kMaxShare = 1e6;
  const double platform = job_.framework.memory.platform_bytes;
  Lack out;
  for (const ClassRoom& of : rooms(choices, shared)) {
    if (layers_may_fit(of.stages, job_.model.layers, of.microbatches)) continue;
    std::vector<StageRoom> stages = of.stages;
    const auto fit = [&] { return layers_may_fit(stages, job_.model.layers, of.microbatches); };
    out.shortage = std::max(out.shortage, largest_that_does_not(kMaxBytes, [&](double more) {
                              for (std::size_t i = 0; i < stages.size(); ++i) {
                                stages[i].usable = of.stages[i].usable + more;
                              }
                              return fit();
                            }));
    out.free = std::min(out.free, 1 - largest_that_does_not(kMaxShare, [&](double share) {
                                    for (std::size_t i = 0; i < stages.size(); ++i) {
                                      stages[i].usable = share * of.capacities[i] - platform;
                                    }
                                    return fit();
                                  }));
  }
  return out;
}

}  // namespace mirfak
