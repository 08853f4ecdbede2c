// Offloading (ZeRO-Offload, arXiv 2101.06840): the host holds and updates the state of some parameters. A share s of P
// parameters costs one rank, with b bytes/s of its link to the host, and B bytes/s of the host's memory, of which the
// rank has one of n parts,
//   copies   s P g / b to the host, s P w / b back        update   s P t n / B
// where g, w and t are bytes per parameter by the framework's habits. An update has 16 operations for 28 bytes, so
// memory bounds it. Example: 1e9 parameters, 8 ranks, 614 GB/s of which 0.24 are reached, 63 GB/s of link: 28e9 x 8 /
// 147e9 = 1.5 s, overlapped with 0.16 s for 8 bytes over the link.
//
// On disks (ZeRO-Infinity, arXiv 2104.07857) the state is read, updated and written piece by piece, r and v bytes a
// parameter at the rank's share of the disks' rates: one piece after the other, or as stations of a pipeline
// (DeepSpeed: runtime/swap_tensor/pipelined_optimizer_swapper.py).

#include "program/optimizer_offload.hpp"

#include "base/error.hpp"
#include "program/data_parallel.hpp"
#include "program/optimizer_step.hpp"
#include "program/outer_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

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

// Seconds for bytes that one rank moves to or from disks, of whose rate it has an equal share.
double seconds_at(const std::optional<Figure>& rate, double bytes, const NodeSpec& node) {
  if (!rate) fail_internal("disks: a node without their rates (check_disks)");
  return bytes / (rate->value / node.gpus);
}

// Parameters of a rank whose state lies on disks.
double stepped_from_disk(const Job& job, const HeldParameters& held) {
  return job.strategy.optimizer_on_disk ? job.strategy.offload_optimizer * shard_of(job, held) : 0;
}

}  // namespace

double OffloadedStep::seconds() const {
  const double slowest = std::max({gradients_s, read_s, update_s, write_s, parameters_s});
  return (gradients_s + read_s + update_s + write_s + parameters_s) / pieces + (pieces - 1) / pieces * slowest;
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
  if (job.strategy.optimizer_on_disk) {
    out.read_s = disk_read_seconds(offloaded * habits.disk_read_bytes, node.spec);
    out.write_s = seconds_at(node.spec.disk_write_bandwidth, offloaded * habits.disk_write_bytes, node.spec);
    if (job.strategy.overlap_disk) out.pieces = std::max(1.0, std::ceil(offloaded / habits.disk_piece_parameters));
  }
  if (habits.overlaps) out.pieces = std::max(1.0, share * parameters.tensors / job.strategy.shards());
  return out;
}

double offloaded_bytes(const Job& job, const HeldParameters& held) {
  const OffloadHabits& habits = job.framework.offload;
  if (const double stepped = stepped_from_disk(job, held); stepped > 0) {
    // A piece in each buffer: one that is updated, and beside it one that is read and one that is written.
    const double at_once = (job.strategy.overlap_disk ? 3 : 1) * habits.disk_piece_parameters;
    return std::min(stepped, at_once) * habits.disk_read_bytes;
  }
  const double share = job.strategy.offload_optimizer;
  return share * shard_of(job, held) * (optimizer_bytes(job, {}) + habits.beside_bytes);
}

namespace {

// Bytes of a rank's shards of parameters that the device does not hold.
double absent_parameter_bytes(const Job& job, const StageParameters& parameters) {
  if (!job.strategy.offload_parameters) return 0;
  const bool in_state = keeps_masters_alone(job);
  const double trained = in_state ? 0 : shard_of(job, parameters.held(), &StateSharding::parameters);
  return (trained + parameters.frozen_elements / job.strategy.shards()) * parameters.gathered_bytes_per_element;
}

}  // namespace

double offloaded_parameter_bytes(const Job& job, const StageParameters& parameters) {
  const double absent = absent_parameter_bytes(job, parameters);
  if (!job.strategy.parameters_on_disk) return absent;
  return absent - parameter_bytes_on_disk(job, parameters) + job.framework.offload.disk_buffer_bytes;
}

double parameter_bytes_on_disk(const Job& job, const StageParameters& parameters) {
  if (!job.strategy.parameters_on_disk) return 0;
  const double kept = job.framework.offload.disk_kept_parameters * parameters.gathered_bytes_per_element;
  return std::max(0.0, absent_parameter_bytes(job, parameters) - kept);
}

double bytes_on_disk(const Job& job, const StageParameters& parameters) {
  return stepped_from_disk(job, parameters.held()) * job.framework.offload.disk_write_bytes +
         parameter_bytes_on_disk(job, parameters);
}

double disk_read_seconds(double bytes, const NodeSpec& node) {
  return bytes > 0 ? seconds_at(node.disk_read_bandwidth, bytes, node) : 0;
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
