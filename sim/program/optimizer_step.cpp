// Every optimizer reads the gradient and rewrites the fp32 parameter; they differ in the state beside it. Per parameter
// and step, in fp32 numbers of 4 bytes, beyond what Adam moves:
//   SGD with momentum   one moment less, read and written                                            -8
//   LAMB                the update is written, its norm and the parameter's are taken, then both are
//                       read again to apply it (NVIDIA/apex FusedLAMB: stage 1, two norms, stage 2)  +20

#include "program/optimizer_step.hpp"

#include "program/data_parallel.hpp"

namespace mirfak {

namespace {

constexpr double kMoment = 4;

bool full_precision(const Job& job) { return bytes_per_element(job.precision()) == 4; }

double adam_bytes(const Job& job) {
  if (full_precision(job)) return 2 * kMoment;  // the parameters are their own master copy
  return job.precision() == Precision::fp16 ? job.framework.optimizer_bytes_fp16 : job.framework.optimizer_bytes;
}

double adam_traffic_bytes(const Job& job) {
  return job.precision() == Precision::fp16 ? job.framework.optimizer_traffic_bytes_fp16
                                            : job.framework.optimizer_traffic_bytes;
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
  return job.framework.host_step_s + job.framework.host_stall_s * static_cast<double>(job.strategy.ranks());
}

FoldedBody optimizer_body(const Job& job, const StagePlan& plan) {
  FoldedBody folded;
  folded.host = folded.lead = to_picoseconds(host_step_seconds(job));
  if (job.training.optimizer == Optimizer::none) return folded;
  const GpuSpec& gpu = plan.costs.hardware.hardware.gpu;
  folded.bytes = shard_of(job, plan.parameters.held()) * optimizer_traffic_bytes(job);
  const KernelCost cost = plan.costs.kernels.price_memory_bound(folded.bytes);
  folded.device = to_picoseconds(cost.seconds);
  folded.energy_j = (busy_power_w(gpu) - gpu.blocked_w.value) * cost.seconds;
  folded.activity_s[static_cast<std::size_t>(Activity::optimizer)] = to_seconds(folded.device);
  return folded;
}

}  // namespace mirfak
