#include "program/sharded_state.hpp"

#include "program/data_parallel.hpp"
#include "program/optimizer_step.hpp"
#include "program/outer_state.hpp"
#include "program/pass_parts.hpp"
#include "program/quantized_exchange.hpp"
#include "program/unit_memory.hpp"
#include "program/weight_exchange.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// Parameters that are whole in all passes of the chunk. For frameworks that gather block by block: parameters that stay
// whole until the backward pass is over. For other frameworks: whole layers, two at once; or, if single parameters are
// gathered and released, those that are used again soon and the one in use (DeepSpeed: stage3_max_live_parameters).
double gathered(const Job& job, const ChunkPlan& chunk) {
  const DataParallelPlan replicas = data_parallel_plan(job);
  if (!replicas.gathers_in_passes()) return 0;
  const bool all_at_once = replicas.gather == DataParallelPlan::Gather::forward;
  double all = 0;
  double largest = 0;
  for (const PassPart& part : split_pass(job, chunk, Pass::Kind::forward)) {
    all += part.gathers.total();
    largest = std::max(largest, part.gathers.total());
  }
  if (gathers_by_blocks(job)) return all_at_once ? all : 0;
  return std::min(all_at_once ? all : 2 * largest, job.framework.sharding.reuse_parameters + chunk.largest_parameter());
}

// Gradients that exist whole until they are reduced, also in the precision of the reduction if it differs: those of the
// largest bucket, or up to a bucket of single parameters in addition to the gradient that a product writes (DeepSpeed:
// reduce_bucket_size).
double reduced(const Job& job, const ChunkPlan& chunk) {
  if (gathers_by_blocks(job)) return 0;
  double largest = 0;
  for (const PassPart& part : split_pass(job, chunk, Pass::Kind::backward)) {
    largest = std::max(largest, part.reduces.total());
  }
  if (job.framework.sharding.reuse_parameters == 0) return largest;
  return std::min(largest, job.framework.sharding.bucket_parameters + chunk.largest_parameter());
}

// Parameters that arrive for the largest part of a pass.
double arriving(const Job& job, const ChunkPlan& chunk) {
  double largest = 0;
  if (!job.strategy.quantized_gathers) return largest;
  for (const PassPart& part : split_pass(job, chunk, Pass::Kind::forward)) {
    largest = std::max(largest, part.gathers.total());
  }
  return largest;
}

double in_flight(const Job& job, const StageContents& stage) {
  const double width = bytes_per_element(job.precision());
  const double reduced_width = width + (gradient_bytes(job) == width ? 0 : gradient_bytes(job));
  double bytes = 0;
  for (const ChunkPlan& chunk : stage.chunks) {
    bytes = std::max(bytes, gathered(job, chunk) * stage.parameters.gathered_bytes_per_element +
                                reduced(job, chunk) * reduced_width +
                                exchange_buffers(job, arriving(job, chunk), chunk.largest_parameter()));
  }
  return bytes;
}

// Bytes per element of a gradient, as it is held between passes.
double gradient_width(const Job& job) {
  return keeps_masters_alone(job) && data_parallel_plan(job).gathers_in_passes() ? kMasterBytes : gradient_bytes(job);
}

}  // namespace

double held_gradients(const Job& job, const HeldParameters& held) {
  if (job.strategy.offload_parameters && job.framework.offload.together) return 0;  // copied to the host once reduced
  return shard_of(job, held, &StateSharding::gradients) * gradient_width(job);
}

MemoryUse sharded_state(const Job& job, const StageContents& stage) {
  if (job.strategy.divides_weights()) return divided_state(job, stage.parameters);
  const Framework& framework = job.framework;
  const DataParallelPlan replicas = data_parallel_plan(job);
  const double frozen = stage.parameters.frozen_elements;
  const HeldParameters held = stage.parameters.held();
  const double stepped = shard_of(job, held);
  const double width = bytes_per_element(job.precision());
  const double narrow = stage.parameters.gathered_bytes_per_element;
  const bool master = keeps_masters_alone(job);
  MemoryUse use;
  const double offloaded = job.strategy.offload_optimizer;
  const double state = optimizer_bytes(job, stage.parameters);
  const double kept = width < kMasterBytes ? std::min(state, framework.offload.kept_bytes) : 0;
  use.optimizer = stepped * ((1 - offloaded) * state + offloaded * kept);
  if (replicas.gathers_in_passes()) {
    const double between_passes = shard_of(job, held, &StateSharding::parameters);
    use.parameters = between_passes * (master ? kMasterBytes : narrow) + frozen / replicas.shards * narrow;
    if (master) use.optimizer = std::max(0.0, use.optimizer - stepped * kMasterBytes);
    if (job.strategy.offload_parameters) use.parameters = 0;
    use.parameters += second_copy_bytes(job, stage.parameters);
  } else {
    use.parameters = stage.parameters.bytes + stage.parameters.copy_bytes;
  }
  use.gradients = held_gradients(job, held);
  if (job.training.local_steps.state_on_device) use.optimizer += outer_state_bytes(job, stage.parameters);
  if (zero_stage(framework, job.strategy.zero).gradients) use.gathered = in_flight(job, stage);
  return use;
}

namespace {

// Bytes of the copies of one bucket that replicas reduce after all passes.
double reduced_copies(const Job& job, const StageContents& stage) {
  const Framework& framework = job.framework;
  const bool reduced = job.strategy.data > 1 && !job.strategy.overlap_grad_reduce;
  if (!reduced) return 0;
  return framework.memory.reduced_copy_bytes *
         std::min(framework.sharding.bucket_parameters, stage.parameters.elements);
}

}  // namespace

double step_workspace(const Job& job, const StageContents& stage) {
  const bool copied = gradient_bytes(job) < kMasterBytes && !job.framework.sharding.master_is_parameter &&
                      has_master_copy(job.framework);
  const double reduced = reduced_copies(job, stage);
  if (!copied || job.training.optimizer == Optimizer::none) return reduced;
  return std::max(reduced,
                  (1 - job.strategy.offload_optimizer) * shard_of(job, stage.parameters.held()) * kMasterBytes);
}

}  // namespace mirfak
