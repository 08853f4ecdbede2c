// ZeRO as a plan. With P parameters on one rank, d replicas, g gradient bytes and w parameter bytes, a rank sends per
// iteration of m microbatches (arXiv 1910.02054, section 7, where g = w = 2, m = 1: 2 P, 2 P and 3 P elements)
//   stage 0     2 g P (d - 1)/d          one all-reduce
//   stage 1     (g + w) P (d - 1)/d      reduce-scatter of gradients, all-gather of parameters
//   stage 2     (m g + w) P (d - 1)/d    gradients do not accumulate whole, so every microbatch reduces them
//   stage 3     m (g + 2 w) P (d - 1)/d  and parameters do not stay whole, so every pass gathers them
// The time depends on the share of this traffic that is hidden by compute: the plan says when ranks send, and lowering
// puts the traffic into streams.

#include "program/data_parallel.hpp"

#include "program/optimizer_offload.hpp"
#include "program/quantized_exchange.hpp"
#include "program/weight_exchange.hpp"

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

ZeroStage zero_of(const Job& job) { return zero_stage(job.framework, job.strategy.zero); }

ReplicaGroup group_over(const StateSharding& state, const ReshardStep& step) {
  if (step.kind != CollectiveKind::all_reduce) return ReplicaGroup::shard;
  return state.shards > 1 && !step.over.contains(kShardAxis) ? ReplicaGroup::across : ReplicaGroup::all;
}

}  // namespace

bool gathers_in_passes(const Framework& framework, int zero) { return zero_stage(framework, zero).parameters; }

DataParallelPlan data_parallel_plan(const Framework& framework, const Strategy& strategy) {
  using Gather = DataParallelPlan::Gather;
  using Reduce = DataParallelPlan::Reduce;
  const ZeroStage zero = zero_stage(framework, strategy.zero);
  DataParallelPlan plan;
  plan.shards = strategy.shards();
  const bool alone = zero.parameters && (framework.sharding.alone || strategy.offload_parameters);
  if (strategy.replicas() == 1 && !alone) return plan;
  if (strategy.divides_weights()) {
    plan.gather = Gather::every_pass;
    plan.reduce = Reduce::every_backward;
    if (zero.state) plan.gather_of_parts = strategy.overlap_param_gather ? Gather::first_forward : Gather::after_step;
    plan.reduce_of_parts = strategy.overlap_grad_reduce ? Reduce::last_backward : Reduce::at_end;
    return plan;
  }
  if (zero.parameters) {
    plan.gather = zero.until_backward ? Gather::every_pass : Gather::forward;
  } else if (zero.state && plan.shards > 1) {
    plan.gather = strategy.overlap_param_gather ? Gather::first_forward : Gather::after_step;
  }
  if (zero.gradients) {
    plan.reduce = Reduce::every_backward;
  } else {
    const bool overlaps = strategy.overlap_grad_reduce && strategy.zero <= framework.sharding.max_zero_with_overlap;
    plan.reduce = overlaps ? Reduce::last_backward : Reduce::at_end;
  }
  return plan;
}

namespace {

// Share of a rank's shards that lie on its host's disks. Each gather reads so much of its own shards.
double share_on_disk(const Job& job, const StageParameters& of) {
  const double on_disk = parameter_bytes_on_disk(job, of);
  return on_disk > 0
             ? on_disk / (on_disk + offloaded_parameter_bytes(job, of) - job.framework.offload.disk_buffer_bytes)
             : 0;
}

// Bytes of some parameters that a rank copies from its host in front of a gather: its shards, as they are kept there.
double copied_from_host(const Job& job, double gathered_width, const HeldParameters& held) {
  if (!job.strategy.offload_parameters) return 0;
  const bool wide = keeps_masters_alone(job) && job.training.adapters.rank == 0;  // frozen shards are narrow
  return shard_of(job, held, &StateSharding::parameters) * (wide ? kMasterBytes : gathered_width);
}

}  // namespace

std::vector<ReplicaCollective> gradient_reduction(const Job& job, const HeldParameters& held) {
  if (reduces_quantized(job)) return quantized_reduction(job, held);
  if (job.strategy.divides_weights()) return weight_reduction(job, held);
  const ZeroStage zero = zero_of(job);
  const StateSharding state = state_sharding(job.strategy, zero);
  std::vector<ReplicaCollective> out;
  for (const ReshardStep& step : state.reductions(held.shared * reduced_gradient_bytes(job))) {
    const bool scattered = step.kind == CollectiveKind::reduce_scatter;
    const ReplicaGroup among = group_over(state, step);
    const double most = scattered && zero.parameters ? job.framework.sharding.max_reduce_bytes_per_s : 0;
    out.push_back({among == ReplicaGroup::across ? "reduce gradients across groups" : "reduce gradients", step.kind,
                   step.bytes, among, 1, most});
    out.back().registered = job.strategy.registered_buffers;
  }
  if (held.experts > 0) {
    const StateSharding experts = expert_state_sharding(job.strategy, zero);
    for (const ReshardStep& step : experts.reductions(held.experts * reduced_gradient_bytes(job))) {
      out.push_back({"reduce experts' gradients", step.kind, step.bytes, ReplicaGroup::experts});
      out.back().registered = job.strategy.registered_buffers;
    }
  }
  return out;
}

std::vector<ReplicaCollective> parameter_gather(const Job& job, const StageParameters& of, const HeldParameters& held,
                                                GatheredFrom from) {
  const ZeroStage zero = zero_of(job);
  const double width = of.gathered_bytes_per_element;
  if (job.strategy.divides_weights()) return weight_gather(width, held);
  if (job.strategy.quantized_gathers || from == GatheredFrom::second_copy) {
    std::vector<ReplicaCollective> out = gather_of_copies(job, width, held, from);
    out.front().host_bytes = copied_from_host(job, width, held);
    out.front().disk_bytes = share_on_disk(job, of) * out.front().host_bytes;
    return out;
  }
  const bool broadcast = job.framework.sharding.broadcast_parameters && !zero.gradients;
  const int pieces = broadcast ? std::max(1, std::min(job.strategy.shards(), of.tensors)) : 1;
  const double most = zero.parameters ? job.framework.sharding.max_gather_bytes_per_s : 0;
  std::vector<ReplicaCollective> out;
  const auto gather = [&](double bytes) {
    out.push_back({"gather parameters", broadcast ? CollectiveKind::broadcast : CollectiveKind::all_gather, bytes,
                   ReplicaGroup::shard, pieces, most});
    out.back().registered = job.strategy.registered_buffers;
  };
  for (const ReshardStep& step : state_sharding(job.strategy, zero).gathers(held.shared * width)) gather(step.bytes);
  if (out.empty()) gather(held.shared * width);  // no other rank shares; tasks that wait for the gather still do
  if (held.experts > 0) {
    for (const ReshardStep& step : expert_state_sharding(job.strategy, zero).gathers(held.experts * width)) {
      out.push_back({"gather experts", step.kind, step.bytes, ReplicaGroup::experts});
      out.back().registered = job.strategy.registered_buffers;
    }
  }
  out.front().host_bytes = copied_from_host(job, width, held);
  out.front().disk_bytes = share_on_disk(job, of) * out.front().host_bytes;
  return out;
}

bool keeps_masters_alone(const Job& job) {
  return job.framework.sharding.master_is_parameter && bytes_per_element(job.precision()) < kMasterBytes;
}

double shard_of(const Job& job, const HeldParameters& held, Sharding StateSharding::*lies) {
  if (job.strategy.divides_weights()) return part_of_rank(job, held, lies);
  const ZeroStage zero = zero_of(job);
  const StateSharding shared = state_sharding(job.strategy, zero);
  const StateSharding experts = expert_state_sharding(job.strategy, zero);
  return shared.held(shared.*lies, held.shared) + experts.held(experts.*lies, held.experts);
}

const CommunicationGroup& group_of(const StageCosts& costs, ReplicaGroup among) {
  switch (among) {
    case ReplicaGroup::shard:
      return costs.shard_group;
    case ReplicaGroup::across:
      return costs.across_group;
    case ReplicaGroup::experts:
      return costs.expert_data_group;
    case ReplicaGroup::second:
      return costs.second_group;
    case ReplicaGroup::node:
      return costs.node_group;
    case ReplicaGroup::between_nodes:
      return costs.between_nodes_group;
    case ReplicaGroup::weights:
      return costs.weights_group;
    case ReplicaGroup::weight_copies:
      return costs.weight_copies_group;
    case ReplicaGroup::expert_weights:
      return costs.expert_weights_group;
    case ReplicaGroup::expert_weight_copies:
      return costs.expert_weight_copies_group;
    case ReplicaGroup::all:
      break;
  }
  return costs.data_group;
}

bool joins_classes(const StageCosts& costs, ReplicaGroup among) {
  constexpr std::array kApart = {ReplicaGroup::shard, ReplicaGroup::second, ReplicaGroup::node, ReplicaGroup::weights,
                                 ReplicaGroup::expert_weights};
  const bool apart = std::find(kApart.begin(), kApart.end(), among) != kApart.end();
  return !apart || group_of(costs, among).shape.ranks == costs.data_group.shape.ranks;
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

int registered_channels(const ReplicaCollective& collective, const StageCosts& costs) {
  if (!collective.registered) return 0;
  const CollectiveModel& model = slowest_model(collective, costs);
  return model.registered_channels(collective.kind, group_of(costs, collective.among));
}

double seconds_from_host(const ReplicaCollective& collective, const NodeHardware& node) {
  return host_copy_seconds(collective.host_bytes, node) + disk_read_seconds(collective.disk_bytes, node.spec);
}

CommunicationCost price(const ReplicaCollective& collective, const StageCosts& costs) {
  const CollectiveModel& model = slowest_model(collective, costs);
  const CommunicationGroup& group = group_of(costs, collective.among);
  CommunicationCost cost = model.price(collective.kind, collective.bytes / collective.pieces, alone(group));
  if (const int channels = registered_channels(collective, costs); channels > 0) {
    cost.multiprocessors = std::min(cost.multiprocessors, channels);
  }
  cost.seconds *= collective.pieces;
  cost.latency_s *= collective.pieces;
  cost.transfer_s *= collective.pieces;
  cost.bytes_sent *= collective.pieces;
  if (collective.max_bytes_per_s > 0 && group.shape.domains > 1 && cost.transfer_s > 0) {
    const double slowest = cost.bytes_sent / collective.max_bytes_per_s * model.time_factor();
    cost.network_bytes_per_s *= cost.seconds / std::max(cost.seconds, slowest);
    cost.transfer_s += std::max(0.0, slowest - cost.seconds);
    cost.seconds = std::max(cost.seconds, slowest);
  }
  if (const double copied = seconds_from_host(collective, costs.hardware->hardware); copied > 0) {
    cost.network_bytes_per_s *= cost.seconds / (cost.seconds + copied);
    cost.transfer_s += copied;
    cost.seconds += copied;
  }
  return cost;
}

}  // namespace mirfak
