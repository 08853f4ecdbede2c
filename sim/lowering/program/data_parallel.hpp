#pragma once

#include "cost/collective_model.hpp"
#include "program/blocks_of_job.hpp"
#include "program/job.hpp"
#include "program/stage_plan.hpp"
#include "sharding/state_sharding.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace mirfak {

// Times at which the replicas of a job communicate: they follow from ZeRO stage, overlap and framework.
struct DataParallelPlan {
  enum class Gather : std::uint8_t {
    never,          // parameters are whole on every rank, or the job has one replica
    after_step,     // once, after the optimizer step
    first_forward,  // once, bucket by bucket, before each chunk's first forward pass
    forward,        // block by block before every forward pass; kept until the backward pass of the block
    every_pass,     // block by block before every forward pass and again before every backward pass
  };
  enum class Reduce : std::uint8_t {
    never,
    at_end,          // once, after the last backward pass
    last_backward,   // in buckets after each chunk's last backward pass
    every_backward,  // bucket by bucket, or block by block, after every backward pass
  };
  Gather gather = Gather::never;
  Reduce reduce = Reduce::never;
  int shards = 1;  // ranks that share one copy of the state
  // For weights that replicas divide, gather and reduce join those that share a copy of a weight, and these join those
  // that hold the same part, once an iteration: after_step or first_forward; at_end or last_backward
  // (weight_exchange.hpp).
  Gather gather_of_parts = Gather::never;
  Reduce reduce_of_parts = Reduce::never;

  bool gathers_in_passes() const { return gather == Gather::forward || gather == Gather::every_pass; }
};
DataParallelPlan data_parallel_plan(const Framework& framework, const Strategy& strategy);
inline DataParallelPlan data_parallel_plan(const Job& job) { return data_parallel_plan(job.framework, job.strategy); }

// True if a framework gathers parameters in every pass at this stage of ZeRO, provided that there are replicas.
bool gathers_in_passes(const Framework& framework, int zero);

inline constexpr double kMasterBytes = 4;  // per element of the fp32 parameters that an optimizer steps

// True if parameters are kept in fp32 alone, and cast for the passes; else the optimizer's fp32 copy, if there is one,
// is kept besides the parameters of the passes.
bool keeps_masters_alone(const Job& job);

// Groups of the replicas of a rank. Consecutive replicas that share one sharded copy form a group `shard`; replicas
// that hold the same shard form a group `across`. Only some of the replicas hold the same experts; the state of these
// experts is sharded over all replicas that hold them. The next three are groups of ZeRO++ (quantized_exchange.hpp).
// `weights`: neighbouring replicas that share one copy of divided weights; `weight_copies`: those that hold the same
// part; likewise of experts (weight_exchange.hpp).
enum class ReplicaGroup : std::uint8_t {
  all,
  shard,
  across,
  experts,
  second,
  node,
  between_nodes,
  weights,
  weight_copies,
  expert_weights,
  expert_weight_copies,
};

// Copy of the parameters that a gather reads.
enum class GatheredFrom : std::uint8_t {
  shards,       // the shards that optimizers update
  second_copy,  // strategy.zero_second_group: in all passes after the first forward pass of an iteration
};

struct ReplicaCollective {
  std::string_view name;
  CollectiveKind kind{};
  double bytes = 0;  // size of the larger buffer on one rank, all pieces together
  ReplicaGroup among = ReplicaGroup::all;
  int pieces = 1;  // collectives that the bytes are divided into
  // Limit of bus bandwidth among ranks of several scale-up domains, due to the framework's way of calling the
  // collective; 0: no limit.
  double max_bytes_per_s = 0;
  double host_bytes = 0;    // copied from the memory of a rank's host in front of the collective
  double disk_bytes = 0;    // read from its disks in front of that
  bool registered = false;  // its buffers are registered: it holds no more multiprocessors than registered_channels()
};

// Returns the collectives that sum the gradients of parameters over all replicas, in order: an all-reduce; with ZeRO a
// reduce-scatter over the shard group, then an all-reduce of the shard across groups. Gradients of experts are summed
// likewise among the replicas that hold the experts. With strategy.quantized_reductions: quantized_reduction().
std::vector<ReplicaCollective> gradient_reduction(const Job& job, const HeldParameters& held);
// Returns the collectives that make some of a stage's sharded parameters whole, in order. At least one collective.
std::vector<ReplicaCollective> parameter_gather(const Job& job, const StageParameters& of, const HeldParameters& held,
                                                GatheredFrom from = GatheredFrom::shards);
// Elements that one rank holds of the parameters that it shares with its replicas. `lies` selects the optimizer state
// (the default), the gradients, or the parameters outside passes.
double shard_of(const Job& job, const HeldParameters& held, Sharding StateSharding::*lies = &StateSharding::state);

const CommunicationGroup& group_of(const StageCosts& costs, ReplicaGroup among);
// True if a collective joins the replicas of all classes; else each class has groups of its own.
bool joins_classes(const StageCosts& costs, ReplicaGroup among);
// The model that decides the price of a collective: that of the slowest hardware among the ranks it joins.
const CollectiveModel& slowest_model(const ReplicaCollective& collective, const StageCosts& costs);
// Returns the most multiprocessors that a collective holds because its buffers are registered; 0: they are not, or no
// figure is known for such links (cost/nccl_choice.hpp).
int registered_channels(const ReplicaCollective& collective, const StageCosts& costs);
// Seconds in front of a collective in which a rank copies what it gathers from its host, and its host from disks.
double seconds_from_host(const ReplicaCollective& collective, const NodeHardware& node);
CommunicationCost price(const ReplicaCollective& collective, const StageCosts& costs);

}  // namespace mirfak
