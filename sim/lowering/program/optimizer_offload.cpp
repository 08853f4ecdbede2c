// Offloading (ZeRO-Offload, arXiv 2101.06840): the host holds and updates the state of some parameters. A share s of P
// parameters costs one rank, with b bytes/s of its link to the host, and B bytes/s of the host's memory, of which the
// rank has one of n parts,
//   copies   s P g / b to the host, s P w / b back        update   s P t n / B
// where g, w and t are bytes per parameter by the framework's habits. An update has 16 operations for 28 bytes, so
// memory bounds it. Example: 1e9 parameters, 8 ranks, 614 GB/s of which 0.24 are reached, 63 GB/s of link: 28e9 x 8 /
// 147e9 = 1.5 s, overlapped with 0.16 s for 8 bytes over the link.

#include "program/optimizer_offload.hpp"

#include "base/error.hpp"
#include "program/data_parallel.hpp"
#include "program/optimizer_step.hpp"
#include "program/outer_state.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

// Share of the line rate that copies from and to pinned memory reach: 15.4 GB in 0.312 s over 63 GB/s (the measurement
// that the `offload` of megatron-core names: the time that overlapping the copies saved).
constexpr double kCopyShare = 0.786;

bool copied_before(const Job& job) {
  using Reduce = DataParallelPlan::Reduce;
  const Reduce reduce = data_parallel_plan(job).reduce;
  return job.framework.offload.copies_beside_passes &&
         (reduce == Reduce::last_backward || reduce == Reduce::every_backward);
}

}  // namespace

double OffloadedStep::seconds() const {
  const double slowest = std::max({gradients_s, update_s, parameters_s});
  return (gradients_s + update_s + parameters_s) / pieces + (pieces - 1) / pieces * slowest;
}

OffloadedStep offloaded_step(const Job& job, const StageParameters& parameters, const NodeHardware& node) {
  OffloadedStep out;
  const double share = job.strategy.offload_optimizer;
  if (share == 0) return out;
  if (!node.spec.host_memory_bandwidth) {
    fail_input({}, fmt::format("the node {} has no host_memory_bandwidth, which an optimizer that steps on the host "
                               "takes its time from",
                               node.spec.name));
  }
  const OffloadHabits& habits = job.framework.offload;
  const double offloaded = share * shard_of(job, parameters.held());
  const double memory = habits.bandwidth_share * node.spec.host_memory_bandwidth->value / node.spec.gpus;
  out.gradients_s = copied_before(job) ? 0 : host_copy_seconds(offloaded * habits.gradient_bytes, node);
  out.update_s = offloaded * habits.traffic_bytes / memory;
  // Parameters that stay on the host are copied in front of each gather instead.
  if (!job.strategy.offload_parameters) out.parameters_s = host_copy_seconds(offloaded * habits.parameter_bytes, node);
  if (habits.overlaps) out.pieces = std::max(1.0, share * parameters.tensors / job.strategy.shards());
  return out;
}

double offloaded_bytes(const Job& job, const HeldParameters& held) {
  const double share = job.strategy.offload_optimizer;
  return share * shard_of(job, held) * (optimizer_bytes(job, {}) + job.framework.offload.beside_bytes);
}

double offloaded_parameter_bytes(const Job& job, const StageParameters& parameters) {
  if (!job.strategy.offload_parameters) return 0;
  const bool in_state = keeps_masters_alone(job);
  const double trained = in_state ? 0 : shard_of(job, parameters.held(), &StateSharding::parameters);
  return (trained + parameters.frozen_elements / job.strategy.shards()) * parameters.gathered_bytes_per_element;
}

double bytes_on_host(const Job& job, const StageParameters& parameters) {
  const double outer = job.training.local_steps.state_on_device ? 0 : outer_state_bytes(job, parameters);
  return offloaded_bytes(job, parameters.held()) + offloaded_parameter_bytes(job, parameters) + outer;
}

double host_copy_seconds(double bytes, const NodeHardware& node) {
  return bytes / (kCopyShare * node.host_link.bandwidth.value);
}

double host_memory_share(const NodeSpec& node) { return node.host_memory_bytes.value / node.gpus; }

}  // namespace mirfak
