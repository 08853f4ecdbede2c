// Two ways to cut a pass. Frameworks that shard parameters gather them by units: each block is a unit (FSDP wraps each
// transformer block), and the blocks that are not layers form one more unit, the root, or two units. All other
// frameworks collect gradients in buckets as they complete, that is in backward order, and close a full bucket at the
// end of a block.

#include "program/pass_parts.hpp"

#include "program/data_parallel.hpp"
#include "program/quantized_exchange.hpp"
#include "program/weight_exchange.hpp"
#include "strategy/rules.hpp"

#include <algorithm>

namespace mirfak {

namespace {

constexpr double kMaxHeld = 0.5;  // largest share of the multiprocessors that collectives hold

// Parameters that are gathered a second time. Recomputing a block and running it backward uses each parameter twice. A
// framework that releases a parameter if more than `reuse_parameters` others are used before its next use gathers it
// twice: in a block of P, the parameters further than half of that number from the block's end.
double gathered_again(const Job& job, double parameters) {
  const double kept = job.framework.sharding.reuse_parameters / 2;
  if (job.strategy.recompute != Recompute::full || kept <= 0) return 0;
  return std::max(0.0, parameters - kept);
}

// Returns the part of a block that only goes forward. Parameters that are trained, too, are whole already if they stay
// whole until the backward pass, as those of a root unit always do.
PassPart forward_only_part(const Job& job, const ChunkPlan& chunk, int block, GatheredFrom from) {
  PassPart part{block, block + 1, {}, {}, {}, {}, from};
  const bool stays = data_parallel_plan(job).gather == DataParallelPlan::Gather::forward ||
                     (job.framework.sharding.root_unit && !chunk.is_layer(block));
  if (!stays || chunk.holds_copy(block)) part.gathers.shared = chunk.frozen_of(block);
  return part;
}

std::vector<PassPart> split_into_units(const Job& job, const ChunkPlan& chunk, Pass::Kind kind) {
  const bool forward = is_forward(kind);
  // Gradients of weights come from activations and gradients alone.
  const bool again =
      makes_input_gradient(kind) && data_parallel_plan(job).gather == DataParallelPlan::Gather::every_pass;
  const bool gathers = forward || again;
  const bool later = !forward || microbatches(job.strategy, job.training) > 1;
  const GatheredFrom from =
      later && job.strategy.zero_second_group > 0 ? GatheredFrom::second_copy : GatheredFrom::shards;
  const bool root = job.framework.sharding.root_unit && chunk.embedding && chunk.head;
  std::vector<PassPart> parts;
  for (int i = 0; i < chunk.blocks(); ++i) {
    const int block = forward ? i : chunk.blocks() - 1 - i;
    if (chunk.forward_only(block)) {
      if (forward) parts.push_back(forward_only_part(job, chunk, block, from));
      continue;
    }
    const bool layer = chunk.is_layer(block);
    const bool kept = job.framework.sharding.root_unit && !layer && !forward;
    HeldParameters trained = chunk.held_by(block);
    HeldParameters all = trained;
    all.shared += chunk.frozen_of(block);
    const int last = chunk.own_blocks() - 1;
    if (root && block == 0) {
      trained += chunk.held_by(last);
      all += chunk.held_by(last);
      all.shared += chunk.frozen_of(last);
    }
    if (root && block == last) trained = all = {};
    PassPart part{parts.empty() ? 0 : i, i + 1, {}, {}, {}, {}, from};
    if (gathers && !kept && (forward || !chunk.frozen_whole(block))) {
      part.gathers = all;
      part.casts = trained;
    }
    if (makes_weight_gradient(kind)) part.reduces = trained;
    if (!forward && gathers && layer && !chunk.frozen_whole(block))
      part.gathers.shared += gathered_again(job, all.total());
    parts.push_back(part);
  }
  return parts;
}

// Each block is a unit. Gathers and reductions of a unit are those of its weights, one by one.
std::vector<PassPart> split_by_weights(const ChunkPlan& chunk, Pass::Kind kind) {
  const bool forward = is_forward(kind);
  std::vector<PassPart> parts;
  for (int i = 0; i < chunk.blocks(); ++i) {
    const int block = forward ? i : chunk.blocks() - 1 - i;
    PassPart part;
    part.first = i;
    part.last = i + 1;
    part.parts = chunk.held_by(block);
    if (forward || !chunk.embedding || block > 0) part.gathers = chunk.divided_of(block);
    if (!forward) part.gathers += chunk.recomputed_of(block);
    if (!forward) part.reduces = chunk.divided_of(block);
    parts.push_back(part);
  }
  return parts;
}

std::vector<PassPart> split_into_buckets(const Job& job, const ChunkPlan& chunk, Pass::Kind kind) {
  const bool forward = is_forward(kind);
  const double full = std::max(job.framework.sharding.bucket_parameters,
                               job.framework.sharding.bucket_parameters_per_rank * job.strategy.replicas());
  // Both kinds of passes have the same buckets, filled in backward order.
  std::vector<PassPart> parts;
  PassPart part;
  HeldParameters held;
  for (int i = 0; i < chunk.blocks(); ++i) {
    held += chunk.held_by(chunk.blocks() - 1 - i);
    part.last = i + 1;
    if (held.total() < full && i + 1 < chunk.blocks()) continue;
    (forward ? part.gathers : part.reduces) = held;
    parts.push_back(part);
    part = {i + 1, i + 1, {}, {}, {}, {}, GatheredFrom::shards};
    held = {};
  }
  if (!forward) return parts;
  std::reverse(parts.begin(), parts.end());
  for (PassPart& bucket : parts) {
    bucket = {chunk.blocks() - bucket.last, chunk.blocks() - bucket.first, bucket.gathers, {}, {}, {}, bucket.from};
  }
  return parts;
}

// Bytes that the casts of a rank's shards move in front of a gather.
double cast_bytes(const Job& job, const HeldParameters& held) {
  const double bytes = job.framework.sharding.gather_cast_bytes;
  return bytes > 0 && keeps_masters_alone(job) ? shard_of(job, held, &StateSharding::parameters) * bytes : 0;
}

// All launches of a kernel as one step.
BodyStep repeated(const ExchangeKernel& kernel, const KernelModel& kernels) {
  KernelCost cost = kernels.price_memory_bound(kernel.bytes / kernel.launches);
  for (double* const of_all : {&cost.seconds, &cost.flop, &cost.executed_flop, &cost.bytes, &cost.clocked_s}) {
    *of_all *= kernel.launches;
  }
  return kernel_step(kernel.name, kernels, cost);
}

}  // namespace

Body replica_copies(const Job& job, const StageCosts& costs, const PassPart& part) {
  if (job.strategy.divides_weights()) return weight_kernels(job, costs, part);
  const ShardingHabits& habits = job.framework.sharding;
  const bool casts = gradient_bytes(job) != bytes_per_element(job.precision());
  const double whole = reduces_quantized(job) ? part.reduces.counts.whole_elements : part.reduces.total();
  const double reduced = whole * (casts ? habits.reduce_cast_bytes : habits.reduce_copy_bytes);
  // The only rank of a group gathers into the tensors that the kernels read.
  const double gathered = job.strategy.replicas() > 1 ? part.gathers.total() * habits.gather_copy_bytes : 0;
  Body body;
  if (!data_parallel_plan(job).gathers_in_passes()) return body;
  const auto copy = [&](const char* name, double bytes) {
    body.steps.push_back(kernel_step(name, costs.kernels, costs.kernels.price_memory_bound(bytes)));
  };
  const double cast = cast_bytes(job, part.casts);
  if (cast > 0) copy("cast shards of parameters", cast);
  if (gathered > 0) copy("copy gathered parameters", gathered);
  if (reduced > 0) copy("copy gradients", reduced);
  for (const std::vector<ExchangeKernel>& kernels :
       {gather_kernels(job, part.gathers, part.from), reduction_kernels(job, part.reduces)}) {
    for (const ExchangeKernel& kernel : kernels) body.steps.push_back(repeated(kernel, costs.kernels));
  }
  return body;
}

double lost_beside(double beside_s, double share, double device_s) {
  share = std::min(share, kMaxHeld);
  return std::min(share * beside_s, device_s * share / (1 - share));
}

bool reductions_block(const Framework& framework, const DataParallelPlan& plan) {
  return framework.sharding.reduction_blocks && plan.reduce == DataParallelPlan::Reduce::every_backward;
}

std::vector<PartCollectives> collectives_of(const Job& job, const StageCosts& costs, const StageParameters& parameters,
                                            std::span<const PassPart> parts) {
  const DataParallelPlan plan = data_parallel_plan(job);
  const bool gathers = job.framework.sharding.overlaps_gathers || !plan.gathers_in_passes();
  const bool reduces = !reductions_block(job.framework, plan);
  const auto held_by = [&](const std::vector<ReplicaCollective>& collectives) {
    HeldBeside held;
    for (const ReplicaCollective& collective : collectives) {
      const CommunicationCost cost = price(collective, costs);
      held.seconds += cost.seconds;
      held.held_s += cost.seconds * cost.multiprocessors / costs.hardware->hardware.gpu.multiprocessors;
    }
    return held;
  };
  const auto alike = [](const HeldParameters& a, const HeldParameters& b) {
    return a.shared == b.shared && a.experts == b.experts;
  };
  std::vector<PartCollectives> out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const PassPart& part = parts[i];
    if (i > 0 && alike(part.gathers, parts[i - 1].gathers) && alike(part.reduces, parts[i - 1].reduces)) {
      const PartCollectives before = out.back();
      out.push_back(before);
      continue;
    }
    PartCollectives& own = out.emplace_back();
    if (gathers && part.gathers.total() > 0)
      own.gather = held_by(parameter_gather(job, parameters, part.gathers, part.from));
    if (reduces && part.reduces.total() > 0) own.reduce = held_by(gradient_reduction(job, part.reduces));
  }
  return out;
}

PartCollectives collectives_beside(const DataParallelPlan& plan, int chunk, std::span<const PartCollectives> parts,
                                   std::size_t part) {
  PartCollectives out = parts[part];
  if (chunk > 0) return out;
  if (plan.gather == DataParallelPlan::Gather::first_forward)
    out.gather = part + 1 < parts.size() ? parts[part + 1].gather : HeldBeside{};
  if (plan.reduce == DataParallelPlan::Reduce::last_backward)
    out.reduce = part > 0 ? parts[part - 1].reduce : HeldBeside{};
  return out;
}

double lost_to_collectives(const PartCollectives& beside, double device_s) {
  const double seconds = beside.gather.seconds + beside.reduce.seconds;
  if (seconds <= 0) return 0;
  return lost_beside(seconds, (beside.gather.held_s + beside.reduce.held_s) / seconds, device_s);
}

std::vector<PassPart> split_pass(const Job& job, const ChunkPlan& chunk, Pass::Kind kind) {
  using Gather = DataParallelPlan::Gather;
  using Reduce = DataParallelPlan::Reduce;
  const DataParallelPlan plan = data_parallel_plan(job);
  if (job.strategy.divides_weights()) return split_by_weights(chunk, kind);
  if (plan.gathers_in_passes()) return split_into_units(job, chunk, kind);
  const bool reduced = plan.reduce == Reduce::last_backward || plan.reduce == Reduce::every_backward;
  const bool buckets = is_forward(kind) ? plan.gather == Gather::first_forward : makes_weight_gradient(kind) && reduced;
  if (!buckets) return {};
  return split_into_buckets(job, chunk, kind);
}

}  // namespace mirfak
