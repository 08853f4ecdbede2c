#include "plan/layout.hpp"

#include "base/error.hpp"
#include "plan/shaped_layouts.hpp"
#include "program/data_parallel.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace mirfak {

namespace {

Job with(Job job, const Strategy& strategy) {
  job.strategy = strategy;
  job.strategy.zero = std::max(1, strategy.zero);
  return job;
}

// Fields on which the prices of a stage's work depend. The prices of replica collectives depend on the hardware of all
// classes.
struct StagePrices {
  int shape = 0;
  PricePlace blocks;
  std::array<CommunicationGroup, 7> replicas;
  std::vector<StageHardware> hardware;

  friend bool operator==(const StagePrices&, const StagePrices&) = default;
};

}  // namespace

std::vector<int> LayoutCosts::number_shapes(const Strategy& strategy) {
  if (strategy.stages.empty()) return std::vector<int>(static_cast<std::size_t>(strategy.pipeline), 0);
  std::vector<int> out;
  std::vector<StageShape> known;
  for (const StageShape& stage : strategy.stages) {
    const auto found = std::find(known.begin(), known.end(), stage);
    out.push_back(static_cast<int>(found - known.begin()));
    if (found == known.end()) known.push_back(stage);
  }
  return out;
}

LayoutCosts::LayoutCosts(Job of, const Strategy& strategy)
    : job(with(std::move(of), strategy)), shape_of(number_shapes(strategy)), classes(replica_classes(job)) {
  std::vector<StagePrices> known;
  std::vector<std::pair<int, std::vector<StageHardware>>> hardware;
  costs.reserve(static_cast<std::size_t>(strategy.pipeline) * classes.size());
  for (int stage = 0; stage < strategy.pipeline; ++stage) {
    const std::vector<StageHardware> nodes = add_costs(stage);
    const int shape = shape_of[static_cast<std::size_t>(stage)];
    for (int own = 0; own < count(); ++own) {
      const StageCosts& at = costs[place(stage, own)];
      StagePrices kind{shape,
                       {at, 1},
                       {at.data_group, at.shard_group, at.expert_data_group, at.across_group, at.second_group,
                        at.node_group, at.between_nodes_group},
                       nodes};
      const auto found = std::find(known.begin(), known.end(), kind) - known.begin();
      kind_of.push_back(static_cast<int>(found));
      if (found < static_cast<std::ptrdiff_t>(known.size())) continue;
      known.push_back(std::move(kind));
      first_of_kind.push_back(place(stage, own));
    }
    std::pair kind(shape, nodes);
    hardware_of.push_back(static_cast<int>(std::find(hardware.begin(), hardware.end(), kind) - hardware.begin()));
    hardware.push_back(std::move(kind));
  }
}

// Adds the costs of every class on a stage; returns the hardware of the classes.
std::vector<StageHardware> LayoutCosts::add_costs(int stage) {
  std::vector<StageHardware> nodes;
  const bool shaped = !job.strategy.stages.empty();
  const Job own_job = shaped ? job.at(stage) : job;
  const std::vector<ReplicaClass> own_classes = shaped ? replica_classes(job, stage) : classes;
  for (int own = 0; own < count(); ++own) {
    const StageCosts* const same_stage = own > 0 ? &costs[place(stage, 0)] : nullptr;
    nodes.emplace_back(costs.emplace_back(own_job, own_classes, stage, own, same_stage).hardware->hardware.spec);
  }
  return nodes;
}

std::shared_ptr<const LayoutCosts> layout_costs(const Job& job, const Cluster& cluster, const Strategy& strategy) {
  Job placed = job;
  placed.cluster = cluster;
  try {
    return std::make_shared<LayoutCosts>(std::move(placed), strategy);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::infeasible) throw;
    return nullptr;
  }
}

std::vector<Strategy> group_sizes(const StrategySpace& space) {
  std::vector<Strategy> out;
  Strategy strategy = space.others;
  for (const int tensor : space.tensor) {
    for (const int context : space.context) {
      for (const int expert : space.expert) {
        for (const int expert_tensor : space.expert_tensor) {
          if (expert_tensor == 1 && tensor == 1 && space.expert_tensor.size() > 1) continue;  // same as `tensor`
          strategy.tensor = tensor;
          strategy.context = context;
          strategy.expert = expert;
          strategy.expert_tensor = expert_tensor;
          out.push_back(strategy);
        }
      }
    }
  }
  return out;
}

namespace {

// Returns the layouts with the stages' own sizes and experts divided in each way of the space. Layers are chosen with
// the pipeline.
std::vector<Strategy> fixed_layouts(const StrategySpace& space) {
  std::vector<Strategy> out;
  for (const int expert_tensor : space.expert_tensor) {
    out.push_back(space.others);
    out.back().expert_tensor = expert_tensor;
    out.back().layer_split.clear();
  }
  return out;
}

std::vector<Strategy> alike_layouts(const StrategySpace& space, const Cluster& cluster) {
  int domain = cluster.gpus();
  for (const NodeGroup& group : cluster.groups()) domain = std::min(domain, group.hardware.spec.scale_up_domain);
  std::vector<Strategy> out;
  for (Strategy strategy : group_sizes(space)) {
    if (strategy.tensor > domain && !space.tensor_across_domains) continue;
    for (const int pipeline : space.pipeline) {
      const std::int64_t ranks = std::int64_t{strategy.team()} * pipeline;
      if (cluster.gpus() % ranks != 0) continue;
      strategy.pipeline = pipeline;
      strategy.data = static_cast<int>(cluster.gpus() / ranks);
      out.push_back(strategy);
    }
  }
  return out;
}

}  // namespace

std::vector<Strategy> layouts(const StrategySpace& space, const Cluster& cluster) {
  if (space.stages == StageShapes::fixed) return fixed_layouts(space);
  std::vector<Strategy> out = alike_layouts(space, cluster);
  if (space.stages == StageShapes::alike) return out;
  std::vector<Strategy> shaped = shaped_layouts(space, cluster);
  std::move(shaped.begin(), shaped.end(), std::back_inserter(out));
  return out;
}

namespace {

// Returns one stage of ZeRO that stands for all those that gather parameters in every pass, and one for all others.
std::vector<int> gathering_stages(const StrategySpace& space, const Framework& framework) {
  std::vector<int> out;
  for (const bool in_passes : {false, true}) {
    const auto first = std::find_if(space.zero.begin(), space.zero.end(),
                                    [&](int zero) { return gathers_in_passes(framework, zero) == in_passes; });
    if (first != space.zero.end()) out.push_back(*first);
  }
  return out;
}

// Returns a strategy with each number of parts of a microbatch and each limit of a collective's multiprocessors.
// Microbatches that cannot be divided run whole, where the space has that.
std::vector<Strategy> part_choices(const StrategySpace& space, Strategy strategy) {
  std::vector<Strategy> out;
  for (const int nanobatches : space.nanobatches) {
    const bool divides = strategy.micro_batch % nanobatches == 0 && strategy.team() > 1 && !strategy.overlap_tensor;
    if (nanobatches > 1 && !divides && space.nanobatches.size() > 1) continue;
    strategy.nanobatches = nanobatches;
    for (const int multiprocessors : space.communication_sms) {
      strategy.communication_sms = multiprocessors;
      out.push_back(strategy);
    }
  }
  return out;
}

}  // namespace

std::vector<Strategy> block_choices(const StrategySpace& space, const Strategy& layout, const Framework& framework) {
  std::vector<Strategy> out;
  Strategy strategy = layout;
  bool whole = layout.tensor == 1;  // true: no stage has tensor groups of several ranks
  for (const StageShape& stage : layout.stages) whole = whole && stage.tensor == 1;
  for (const int micro_batch : space.micro_batch) {
    strategy.micro_batch = micro_batch;
    for (const bool sequence_parallel : space.sequence_parallel) {
      // Sequences are divided only over tensor groups of several ranks.
      if (sequence_parallel && whole && space.sequence_parallel.size() > 1) continue;
      strategy.sequence_parallel = sequence_parallel;
      for (const bool overlap_tensor : space.overlap_tensor) {
        if (overlap_tensor && !sequence_parallel && space.overlap_tensor.size() > 1) continue;
        strategy.overlap_tensor = overlap_tensor;
        for (const Strategy& parts : part_choices(space, strategy)) {
          for (const Recompute recompute : space.recompute) {
            for (const int zero : gathering_stages(space, framework)) {
              Strategy& choice = out.emplace_back(parts);
              choice.recompute = recompute;
              choice.zero = zero;
            }
          }
        }
      }
    }
  }
  return out;
}

}  // namespace mirfak
