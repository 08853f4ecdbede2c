// Every optimizer reads the gradient and rewrites the fp32 parameter; they differ in the state beside it. Per parameter
// and step, in fp32 numbers of 4 bytes, beyond what Adam moves:
//   SGD with momentum   one moment less, read and written                                            -8
//   LAMB                the update is written, its norm and the parameter's are taken, then both are
//                       read again to apply it (NVIDIA/apex FusedLAMB: stage 1, two norms, stage 2)  +20

#include "program/optimizer_step.hpp"

#include "program/data_parallel.hpp"
#include "program/optimizer_offload.hpp"

#include <algorithm>

namespace mirfak {

namespace {

constexpr double kMoment = 4;

bool full_precision(const Job& job) { return bytes_per_element(job.precision()) == 4; }

double adam_bytes(const Job& job) {
  if (full_precision(job)) return 2 * kMoment;  // the parameters are their own master copy
  return job.precision() == Precision::fp16 ? job.framework.memory.optimizer_bytes_fp16
                                            : job.framework.memory.optimizer_bytes;
}

double adam_traffic_bytes(const Job& job) {
  return job.precision() == Precision::fp16 ? job.framework.memory.optimizer_traffic_bytes_fp16
                                            : job.framework.memory.optimizer_traffic_bytes;
}

}  // namespace

double optimizer_bytes(const Job& job) {
  switch (job.training.optimizer) {
    case Optimizer::none:
      return 0;
    case Optimizer::sgd:
      return adam_bytes(job) - kMoment;
    default:
      return adam_bytes(job);
  }
}

double optimizer_traffic_bytes(const Job& job) {
  constexpr double lamb_beyond_adam = 20;
  switch (job.training.optimizer) {
    case Optimizer::none:
      return 0;
    case Optimizer::sgd:
      return adam_traffic_bytes(job) - 2 * kMoment;
    case Optimizer::lamb:
      return adam_traffic_bytes(job) + lamb_beyond_adam;
    case Optimizer::adam:
      break;
  }
  return adam_traffic_bytes(job);
}

double host_step_seconds(const Job& job) {
  return job.framework.host.step_s + job.framework.host.stall_s * static_cast<double>(job.strategy.ranks());
}

FoldedBody step_body(const Job& job, const StageParameters& parameters, const StageCosts& costs) {
  FoldedBody folded;
  folded.host = folded.lead = to_picoseconds(costs.host_seconds(host_step_seconds(job)));
  if (job.training.optimizer == Optimizer::none) return folded;
  const double on_device = 1 - job.strategy.offload_optimizer;
  folded.bytes = on_device * shard_of(job, parameters.held()) * optimizer_traffic_bytes(job);
  const KernelCost cost = costs.kernels.price_memory_bound(folded.bytes);
  const bool partitioned = job.strategy.zero == 1 && job.strategy.replicas() > 1;
  const double per_parameter = partitioned ? job.framework.sharding.step_s_per_parameter : 0;
  const double beside = per_parameter * parameters.held().total() * costs.kernels.time_factor();
  const double offloaded = offloaded_step(job, parameters, costs.hardware->hardware).seconds();
  folded.device = to_picoseconds(std::max(cost.seconds + beside, offloaded));
  folded.energy_j = energy_above_waiting_j(costs.kernels, cost);
  folded.activity_s[static_cast<std::size_t>(Activity::optimizer)] = to_seconds(folded.device);
  return folded;
}

FoldedBody update_body(const StagePlan& plan) {
  FoldedBody out;
  for (const ChunkPlan& chunk : plan.chunks) {
    for (const BlockRun& run : chunk.runs) {
      append(out, repeated(plan.bodies_of(run.block).folded_update, run.count));
    }
  }
  return out;
}

FoldedBody optimizer_body(const Job& job, const StagePlan& plan) {
  FoldedBody out = step_body(job, plan.parameters, plan.costs);
  append(out, update_body(plan));
  return out;
}

}  // namespace mirfak
