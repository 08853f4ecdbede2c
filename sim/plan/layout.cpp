#include "plan/layout.hpp"

#include "program/body_cache.hpp"

#include <algorithm>
#include <tuple>

namespace mirfak {

namespace {

Job with(Job job, const Strategy& strategy) {
  job.strategy = strategy;
  job.strategy.zero = std::max(1, strategy.zero);
  return job;
}

// What the price of everything that a stage does depends on.
auto signature(const StageCosts& costs) {
  const auto group = [](const CommunicationGroup& of) {
    const GroupShape& shape = of.shape;
    return std::tuple(shape.ranks, shape.nodes, shape.ranks_per_node, shape.domains, shape.ranks_per_domain,
                      shape.fewest_per_domain, of.crosses_leaves);
  };
  return std::tuple(BodyCache::place_of(costs, 1), group(costs.data_group), group(costs.shard_group),
                    group(costs.expert_data_group), group(costs.across_group));
}

// Whether so many stages lie on one type of node each: every type begins with a stage.
bool stages_are_uniform(const Cluster& cluster, int stages) {
  const int ranks = cluster.gpus() / stages;
  const auto groups = cluster.groups();
  return std::all_of(groups.begin(), groups.end(),
                     [&](const NodeGroup& group) { return group.first_device % ranks == 0; });
}

}  // namespace

LayoutCosts::LayoutCosts(Job of, const Strategy& strategy) : job(with(std::move(of), strategy)) {
  std::vector<decltype(signature(stages.front()))> known;
  for (int stage = 0; stage < strategy.pipeline; ++stage) {
    auto own = signature(stages.emplace_back(job, stage));
    const auto kind = std::find(known.begin(), known.end(), own) - known.begin();
    kind_of.push_back(static_cast<int>(kind));
    if (kind < static_cast<std::ptrdiff_t>(known.size())) continue;
    known.push_back(std::move(own));
    first_of_kind.push_back(stage);
  }
}

std::vector<Strategy> layouts(const StrategySpace& space, const Cluster& cluster) {
  const int gpus = cluster.gpus();
  int domain = gpus;
  for (const NodeGroup& group : cluster.groups()) domain = std::min(domain, group.hardware.spec.scale_up_domain);
  std::vector<Strategy> out;
  Strategy strategy = space.others;
  for (const int tensor : space.tensor) {
    if (tensor > domain && !space.tensor_across_domains) continue;
    for (const int context : space.context) {
      for (const int pipeline : space.pipeline) {
        const std::int64_t ranks = std::int64_t{tensor} * context * pipeline;
        if (gpus % ranks != 0 || !stages_are_uniform(cluster, pipeline)) continue;
        strategy.tensor = tensor;
        strategy.context = context;
        strategy.pipeline = pipeline;
        strategy.data = static_cast<int>(gpus / ranks);
        for (const int expert : space.expert) {
          for (const int expert_tensor : space.expert_tensor) {
            if (expert_tensor == 1 && tensor == 1) continue;  // as `tensor` already
            strategy.expert = expert;
            strategy.expert_tensor = expert_tensor;
            out.push_back(strategy);
          }
        }
      }
    }
  }
  return out;
}

}  // namespace mirfak
