// ZeRO as a plan. With P parameters on one rank, d replicas, g gradient bytes and w parameter bytes, a rank sends per
// iteration of m microbatches (arXiv 1910.02054, section 7, where g = w = 2, m = 1: 2 P, 2 P and 3 P elements)
//   stage 0     2 g P (d - 1)/d          one all-reduce
//   stage 1     (g + w) P (d - 1)/d      reduce-scatter of gradients, all-gather of parameters
//   stage 2     (m g + w) P (d - 1)/d    gradients do not accumulate whole, so every microbatch reduces them
//   stage 3     m (g + 2 w) P (d - 1)/d  and parameters do not stay whole, so every pass gathers them
// What decides the time is how much of it hides behind compute: the plan says when, lowering puts it into streams.

#include "program/data_parallel.hpp"

#include <algorithm>

namespace mirfak {

bool gathers_in_passes(const Framework& framework, int zero) {
  return zero == 3 || (zero == 2 && framework.sharding.stage2_gathers_parameters);
}

DataParallelPlan data_parallel_plan(const Job& job) {
  using Gather = DataParallelPlan::Gather;
  using Reduce = DataParallelPlan::Reduce;
  const Strategy& strategy = job.strategy;
  DataParallelPlan plan;
  plan.shards = strategy.shards();
  if (strategy.replicas() == 1) return plan;
  if (gathers_in_passes(job.framework, strategy.zero)) {
    plan.gather = strategy.zero == 3 ? Gather::every_pass : Gather::forward;
  } else if (strategy.zero >= 1 && plan.shards > 1) {
    plan.gather = strategy.overlap_param_gather ? Gather::first_forward : Gather::after_step;
  }
  if (strategy.zero >= 2) {
    plan.reduce = Reduce::every_backward;
  } else {
    plan.reduce = strategy.overlap_grad_reduce ? Reduce::last_backward : Reduce::at_end;
  }
  return plan;
}

std::vector<ReplicaCollective> gradient_reduction(const Job& job, const HeldParameters& held) {
  constexpr std::string_view name = "reduce gradients";
  const double bytes = held.shared * gradient_bytes(job);
  const int shards = job.strategy.shards();
  const bool whole = job.strategy.zero == 1 && job.framework.sharding.all_reduce_gradients;
  std::vector<ReplicaCollective> out;
  if (shards == 1 || whole) {
    out.push_back({name, CollectiveKind::all_reduce, bytes, ReplicaGroup::all});
  } else {
    const double most = data_parallel_plan(job).gathers_in_passes() ? job.framework.sharding.max_reduce_bytes_per_s : 0;
    out.push_back({name, CollectiveKind::reduce_scatter, bytes, ReplicaGroup::shard, 1, most});
    if (shards < job.strategy.replicas()) {
      out.push_back(
          {"reduce gradients across groups", CollectiveKind::all_reduce, bytes / shards, ReplicaGroup::across});
    }
  }
  if (held.experts > 0 && job.strategy.expert_replicas() > 1) {
    const CollectiveKind kind =
        job.strategy.zero == 0 || whole ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter;
    out.push_back({"reduce experts' gradients", kind, held.experts * gradient_bytes(job), ReplicaGroup::experts});
  }
  return out;
}

std::vector<ReplicaCollective> parameter_gather(const Job& job, const StageParameters& of, const HeldParameters& held) {
  const double width = of.gathered_bytes_per_element;
  const bool broadcast = job.framework.sharding.broadcast_parameters && job.strategy.zero == 1;
  const bool in_passes = data_parallel_plan(job).gathers_in_passes();
  std::vector<ReplicaCollective> out = {
      {"gather parameters", broadcast ? CollectiveKind::broadcast : CollectiveKind::all_gather, held.shared * width,
       ReplicaGroup::shard, broadcast ? std::max(1, std::min(job.strategy.shards(), of.tensors)) : 1,
       in_passes ? job.framework.sharding.max_gather_bytes_per_s : 0}};
  if (held.experts > 0 && job.strategy.expert_replicas() > 1) {
    out.push_back({"gather experts", CollectiveKind::all_gather, held.experts * width, ReplicaGroup::experts});
  }
  return out;
}

double shard_of(const Job& job, const HeldParameters& held) {
  return held.shared / job.strategy.shards() + held.experts / job.strategy.expert_shards();
}

const CommunicationGroup& group_of(const StageCosts& costs, ReplicaGroup among) {
  switch (among) {
    case ReplicaGroup::shard:
      return costs.shard_group;
    case ReplicaGroup::across:
      return costs.across_group;
    case ReplicaGroup::experts:
      return costs.expert_data_group;
    case ReplicaGroup::all:
      break;
  }
  return costs.data_group;
}

bool joins_classes(const StageCosts& costs, ReplicaGroup among) {
  return among != ReplicaGroup::shard || costs.shard_group.shape.ranks == costs.data_group.shape.ranks;
}

const CollectiveModel& slowest_model(const ReplicaCollective& collective, const StageCosts& costs) {
  if (!joins_classes(costs, collective.among)) return costs.communication;
  const auto seconds = [&](const CollectiveModel& model) {
    return model.price(collective.kind, collective.bytes / collective.pieces, group_of(costs, collective.among))
        .seconds;
  };
  const CollectiveModel* slowest = &costs.communication;
  for (const CollectiveModel& other : costs.others) {
    if (seconds(other) > seconds(*slowest)) slowest = &other;
  }
  return *slowest;
}

CommunicationCost price(const ReplicaCollective& collective, const StageCosts& costs) {
  const CollectiveModel& model = slowest_model(collective, costs);
  CommunicationCost cost =
      model.price(collective.kind, collective.bytes / collective.pieces, group_of(costs, collective.among));
  cost.seconds *= collective.pieces;
  cost.latency_s *= collective.pieces;
  cost.transfer_s *= collective.pieces;
  cost.bytes_sent *= collective.pieces;
  if (collective.max_bytes_per_s > 0 && cost.transfer_s > 0) {
    const double slowest = cost.bytes_sent / collective.max_bytes_per_s * model.time_factor();
    cost.network_bytes_per_s *= cost.seconds / std::max(cost.seconds, slowest);
    cost.transfer_s += std::max(0.0, slowest - cost.seconds);
    cost.seconds = std::max(cost.seconds, slowest);
  }
  return cost;
}

}  // namespace mirfak
