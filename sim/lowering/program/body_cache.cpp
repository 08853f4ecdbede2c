#include "program/body_cache.hpp"

#include "program/settled_clock.hpp"
#include "program/stage_plan.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// True if no pass has to be written step by step.
bool all_one_task(const BlockBodies& bodies) {
  for (const RowBodies* row : {&bodies.forward_row, &bodies.backward_row}) {
    for (const PlacedBody& placed : row->at) {
      if (!placed.folded.is_one_task()) return false;
    }
  }
  return bodies.folded_forward.is_one_task() && bodies.folded_backward.is_one_task() &&
         bodies.folded_backward_input.is_one_task() && bodies.folded_backward_weight.is_one_task();
}

}  // namespace

StageHardware::StageHardware(const NodeSpec& spec)
    : node(spec.name),
      entry(spec.entry),
      network(spec.network),
      scale_up(spec.scale_up),
      topology(spec.topology.file),
      gpus(spec.gpus),
      ports(spec.ports),
      scale_up_domain(spec.scale_up_domain),
      clock_hz(spec.clock_hz) {}

PricePlace::PricePlace(const StageCosts& costs, double limit)
    : hardware(costs.hardware->hardware.spec),
      clock_limit(limit),
      tensor(costs.tensor_group),
      context(costs.context_group),
      heads(costs.heads_group),
      expert(costs.expert_group) {}

// Returns what `make` finds for some layers, found once.
template <typename Clock, typename Make>
Clock BodyCache::known(std::map<ClockKey, Clock>& all, const Job& job, Mix layers, const StageCosts& costs,
                       const Make& make) {
  const Schedule& schedule = schedule_of(job.strategy.schedule);
  ClockKey key(PricePlace(costs, 1), std::move(layers), schedule.splits, schedule.pairs);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = all.find(key); found != all.end()) return found->second;
  }
  const Clock clock = make(std::get<Mix>(key));
  const std::lock_guard lock(mutex_);
  return all.emplace(std::move(key), clock).first->second;
}

double BodyCache::clock_at(const Job& job, const ShardedBlocks& blocks, Mix layers, const StageCosts& costs) {
  return known(clocks_, job, std::move(layers), costs,
               [&](const Mix& mix) { return settled_clock(job, blocks, mix, costs); });
}

ClockBounds BodyCache::clock_bounds_at(const Job& job, const ShardedBlocks& blocks, Mix layers,
                                       const StageCosts& costs) {
  return known(clock_bounds_, job, std::move(layers), costs,
               [&](const Mix& mix) { return clock_bounds(job, blocks, mix, costs); });
}

PricedBodies BodyCache::price(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan, double clock_limit) {
  const double clock = clock_at(job, blocks, layer_mix(blocks, plan.chunks), plan.costs);
  return price_at(job, blocks, plan.costs, clock, clock_limit);
}

PricedBodies BodyCache::price_at(const Job& job, const ShardedBlocks& blocks, const StageCosts& costs,
                                 double settled_clock, double clock_limit) {
  const bool merged = job.strategy.overlap_expert && schedule_of(job.strategy.schedule).pairs;
  const BodiesKey key(PricePlace(costs, clock_limit), settled_clock, merged);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = bodies_.find(key); known != bodies_.end()) return {settled_clock, known->second};
  }
  StageCosts clocked = costs;
  auto made = std::make_shared<std::vector<BlockBodies>>();
  made->reserve(blocks.all.size());
  for (BlockId id = 0; id < static_cast<BlockId>(blocks.all.size()); ++id) {
    const double alone = blocks.is_end(id) ? clock_bounds_at(job, blocks, {{id, 1}}, costs).without_waiting : 1;
    clocked.kernels.set_clock_share(std::min(settled_clock, alone), clock_limit);
    BlockBodies& bodies = made->emplace_back(price_block(job, blocks.of(id), clocked, blocks.halves));
    if (keep_ == Keep::folds && !blocks.pairs && all_one_task(bodies)) {
      bodies.forward = bodies.backward = {};
      bodies.split = {};
      for (RowBodies* row : {&bodies.forward_row, &bodies.backward_row}) {
        for (PlacedBody& placed : row->at) placed.steps = {};
      }
    }
  }
  const std::lock_guard lock(mutex_);
  return {settled_clock, bodies_.emplace(key, std::move(made)).first->second};
}

BodyCache& BodyCache::with_steps() {
  if (keeps_steps()) return *this;
  const std::lock_guard lock(mutex_);
  if (with_steps_ == nullptr) with_steps_ = std::make_unique<BodyCache>(Keep::steps);
  return *with_steps_;
}

}  // namespace mirfak
