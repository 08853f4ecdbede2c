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

// When the replicas of a job communicate, decided by ZeRO stage, overlap and framework.
struct DataParallelPlan {
  enum class Gather : std::uint8_t {
    never,          // parameters are whole on every rank, or the job has one replica
    after_step,     // once, behind the optimizer step
    first_forward,  // once, bucket by bucket in front of each chunk's first forward pass
    forward,        // block by block in front of every forward pass; kept until its backward pass
    every_pass,     // ... and again in front of every backward pass
  };
  enum class Reduce : std::uint8_t {
    never,
    at_end,          // once, behind the last backward pass
    last_backward,   // in buckets behind each chunk's last backward pass
    every_backward,  // bucket by bucket, or block by block, behind every backward pass
  };
  Gather gather = Gather::never;
  Reduce reduce = Reduce::never;
  int shards = 1;  // ranks that share one copy of the state

  bool gathers_in_passes() const { return gather == Gather::forward || gather == Gather::every_pass; }
};
DataParallelPlan data_parallel_plan(const Job& job);

// Whether a framework gathers parameters in every pass at this stage of ZeRO, where there are replicas.
bool gathers_in_passes(const Framework& framework, int zero);

// The replicas of a rank fall into groups that share one sharded copy, of consecutive replicas; those that hold the
// same shard are the group across. Replicas that hold the same experts are fewer than all; their experts' state is
// sharded over all of these.
enum class ReplicaGroup : std::uint8_t { all, shard, across, experts };

struct ReplicaCollective {
  std::string_view name;
  CollectiveKind kind{};
  double bytes = 0;  // of the larger buffer on one rank, all pieces together
  ReplicaGroup among = ReplicaGroup::all;
  int pieces = 1;  // collectives that the bytes are spread over
  // Bus bandwidth that the framework's way of calling it does not exceed among ranks of several scale-up domains;
  // 0: no limit.
  double max_bytes_per_s = 0;
};

// What makes the gradients of parameters those of all replicas, in order: an all-reduce; with ZeRO a reduce-scatter
// over the shard group, then an all-reduce of the shard across groups. Experts' gradients likewise among their holders.
std::vector<ReplicaCollective> gradient_reduction(const Job& job, const HeldParameters& held);
// What makes some of a stage's parameters, held as shards, whole, in order. At least one collective.
std::vector<ReplicaCollective> parameter_gather(const Job& job, const StageParameters& of, const HeldParameters& held);
// Elements that one rank has of the parameters it shares with its replicas: those that its optimizer updates, or those
// of their gradients, or of themselves outside passes.
double shard_of(const Job& job, const HeldParameters& held, Sharding StateSharding::*lies = &StateSharding::state);

const CommunicationGroup& group_of(const StageCosts& costs, ReplicaGroup among);
// Whether a collective joins the replicas of all classes; else each class has groups of its own.
bool joins_classes(const StageCosts& costs, ReplicaGroup among);
// The model that decides what a collective takes: that of the slowest of the hardware that it joins.
const CollectiveModel& slowest_model(const ReplicaCollective& collective, const StageCosts& costs);
CommunicationCost price(const ReplicaCollective& collective, const StageCosts& costs);

}  // namespace mirfak
