#include "program/body_cache.hpp"

#include "program/settled_clock.hpp"
#include "program/stage_plan.hpp"

namespace mirfak {

BodyCache::Place BodyCache::place_of(const StageCosts& costs, double clock_limit) {
  const auto group = [](const CommunicationGroup& of) {
    const GroupShape& shape = of.shape;
    return Group(shape.ranks, shape.nodes, shape.ranks_per_node, shape.domains, shape.ranks_per_domain,
                 of.crosses_leaves);
  };
  const NodeSpec& spec = costs.hardware.hardware.spec;
  return {Node(spec.name, spec.network, spec.gpus, spec.ports, spec.scale_up_domain), clock_limit,
          group(costs.tensor_group), group(costs.context_group), group(costs.expert_group)};
}

double BodyCache::clock_at(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan, const Place& place) {
  std::pair<Place, Mix> key(place, layer_mix(blocks, plan));
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = clocks_.find(key); known != clocks_.end()) return known->second;
  }
  const double clock = settled_clock(job, blocks, key.second, plan.costs);
  const std::lock_guard lock(mutex_);
  return clocks_.emplace(std::move(key), clock).first->second;
}

PricedBodies BodyCache::price(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan, double clock_limit) {
  const Place place = place_of(plan.costs, clock_limit);
  PricedBodies out;
  out.clock_share = clock_at(job, blocks, plan, place);
  const std::pair<Place, double> key(place, out.clock_share);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = bodies_.find(key); known != bodies_.end()) return {out.clock_share, known->second};
  }
  StageCosts costs = plan.costs;
  costs.kernels.set_clock_share(out.clock_share, clock_limit);
  auto made = std::make_shared<std::vector<BlockBodies>>();
  made->reserve(blocks.all.size());
  for (const PartitionedBlock& block : blocks.all) made->push_back(price_block(job, block, costs));
  const std::lock_guard lock(mutex_);
  out.bodies = bodies_.emplace(key, std::move(made)).first->second;
  return out;
}

}  // namespace mirfak
