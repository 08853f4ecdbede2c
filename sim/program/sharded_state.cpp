#include "program/sharded_state.hpp"

#include "program/data_parallel.hpp"
#include "program/optimizer_step.hpp"
#include "program/pass_parts.hpp"

#include <algorithm>

namespace mirfak {

namespace {

constexpr double kMasterBytes = 4;

// Two gathers are alive at once, and what is gathered first and kept to the end; the gradients of a block exist whole
// until they are reduced, in the precision of the reduction too where that differs. A framework that gathers and
// releases single parameters holds those that are used again soon and the one in use, and gradients up to a bucket
// beside the one that a product writes (DeepSpeed: stage3_max_live_parameters, reduce_bucket_size).
double in_flight(const Job& job, const StageContents& stage) {
  const double width = bytes_per_element(job.precision());
  const double gradient_width = width + (gradient_bytes(job) == width ? 0 : gradient_bytes(job));
  const DataParallelPlan replicas = data_parallel_plan(job);
  double bytes = 0;
  for (const ChunkPlan& chunk : stage.chunks) {
    double largest = 0;
    double all = 0;
    double kept = 0;
    for (const PassPart& part : split_pass(job, chunk, Pass::Kind::forward)) {
      const bool root = job.framework.sharding.root_unit && !chunk.is_layer(part.first);
      (root ? kept : largest) = std::max(root ? kept : largest, part.gathers.total());
      all += part.gathers.total();
    }
    double reduced = 0;
    for (const PassPart& part : split_pass(job, chunk, Pass::Kind::backward)) {
      reduced = std::max(reduced, part.reduces.total());
    }
    const bool whole = replicas.gather == DataParallelPlan::Gather::forward;
    double gathered = replicas.gathers_in_passes() ? (whole ? all : kept + 2 * largest) : 0;
    if (job.framework.sharding.reuse_parameters > 0) {
      const double one = chunk.largest_parameter();
      gathered = std::min(gathered, job.framework.sharding.reuse_parameters + one);
      reduced = std::min(reduced, job.framework.sharding.bucket_parameters + one);
    }
    bytes = std::max(bytes, gathered * stage.parameters.gathered_bytes_per_element + reduced * gradient_width);
  }
  return bytes;
}

}  // namespace

MemoryUse sharded_state(const Job& job, const StageContents& stage) {
  const Framework& framework = job.framework;
  const DataParallelPlan replicas = data_parallel_plan(job);
  const double frozen = stage.parameters.frozen_elements;
  const HeldParameters held = stage.parameters.held();
  const double stepped = shard_of(job, held);
  const double accumulated = shard_of(job, held, &StateSharding::gradients);
  const double width = bytes_per_element(job.precision());
  const double narrow = stage.parameters.gathered_bytes_per_element;
  const bool master = framework.sharding.master_is_parameter && width < kMasterBytes;
  MemoryUse use;
  const double offloaded = job.strategy.offload_optimizer;
  const double state = optimizer_bytes(job, stage.parameters);
  const double kept = width < kMasterBytes ? std::min(state, framework.offload.kept_bytes) : 0;
  use.optimizer = stepped * ((1 - offloaded) * state + offloaded * kept);
  if (replicas.gathers_in_passes()) {
    const double between_passes = shard_of(job, held, &StateSharding::parameters);
    use.parameters = between_passes * (master ? kMasterBytes : narrow) + frozen / replicas.shards * narrow;
    use.gradients = accumulated * (master ? kMasterBytes : gradient_bytes(job));
    if (master) use.optimizer = std::max(0.0, use.optimizer - stepped * kMasterBytes);
  } else {
    use.parameters = stage.parameters.bytes + stage.parameters.copy_bytes;
    use.gradients = accumulated * gradient_bytes(job);
  }
  if (zero_stage(framework, job.strategy.zero).gradients) use.gathered = in_flight(job, stage);
  return use;
}

double step_workspace(const Job& job, const StageContents& stage) {
  const bool copied = gradient_bytes(job) < kMasterBytes && !job.framework.sharding.master_is_parameter;
  if (!copied || job.training.optimizer == Optimizer::none) return 0;
  return (1 - job.strategy.offload_optimizer) * shard_of(job, stage.parameters.held()) * kMasterBytes;
}

}  // namespace mirfak
