// Every optimizer reads the gradient and rewrites the fp32 parameter; optimizers differ in the other state. Bytes per
// parameter and step, in fp32 numbers of 4 bytes, in addition to those that Adam moves:
//   SGD with momentum   one moment less, read and written                                            -8
//   8-bit Adam          both moments in a byte each, and fp32 scales of blocks of 256 (bitsandbytes 0.45:
//                       blockwise), read and written                                                -11.9
//   Adafactor           neither moment; sums over rows and columns, less than a thousandth of a matrix, do not count.
//                       The gradient is read twice more, for these sums and for the norm of the update
//                       (algorithm 4)                                                                -8
//   Muon                one moment less for matrices of layers, read and written, and in addition the bytes
//                       of orthogonalization.hpp                                                     -8
//   states of 1 or 2 bytes  each read and written, and a byte less for each that the type saves
//   projected gradients of the matrices of layers (low_rank_step.hpp): no whole moments, and the update that a product
//                       takes back is read and written to be scaled                                     -8
//                       A projection has moments of its own, by kernels for each operation: besides reading and
//                       writing both once, 24; its gradient is read twice, a denominator written and read twice, a
//                       quotient written, 28                                                     16 + 52 each
//   LAMB                the update is written, its norm and the parameter's are taken, then both are
//                       read again to apply it (NVIDIA/apex FusedLAMB: stage 1, two norms, stage 2)  +20

#include "program/optimizer_step.hpp"

#include "program/data_parallel.hpp"
#include "program/optimizer_offload.hpp"

#include <algorithm>

namespace mirfak {

namespace {

constexpr double kMoment = 4;
constexpr double kGradient = 4;
constexpr double kMomentIn8Bits = 1 + 4 / 256.0;

bool full_precision(const Job& job) { return bytes_per_element(job.precision()) == 4; }

// Returns the bytes of a parameter that a state of this type saves, compared with fp32.
double saved_by(const std::string& type) {
  if (type == "fp32") return 0;
  return type == "fp8" ? 3 : 2;
}

// Returns the bytes of a parameter that states of chosen types save. Without a copy in fp32 there is none to shorten.
double saved_bytes(const Job& job) {
  const TrainingSpec& training = job.training;
  const bool copy = !full_precision(job) && has_master_copy(job.framework);
  const double main = copy ? saved_by(training.main_parameters) : 0;
  return saved_by(training.first_moment) + saved_by(training.second_moment) + main;
}

double adam_bytes(const Job& job) {
  if (full_precision(job)) return 2 * kMoment - saved_bytes(job);  // the parameters are their own master copy
  const double bytes = job.precision() == Precision::fp16 ? job.framework.memory.optimizer_bytes_fp16
                                                          : job.framework.memory.optimizer_bytes;
  return bytes - saved_bytes(job);
}

double adam_traffic_bytes(const Job& job) {
  const double bytes = job.precision() == Precision::fp16 ? job.framework.memory.optimizer_traffic_bytes_fp16
                                                          : job.framework.memory.optimizer_traffic_bytes;
  return bytes - 2 * saved_bytes(job);
}

double matrix_share(const StageParameters& parameters) {
  return parameters.elements > 0 ? parameters.matrix_elements / parameters.elements : 0;
}

// Bytes of the moments of a value.
double moment_bytes(const Job& job) {
  if (job.training.optimizer == Optimizer::adafactor) return 0;
  return 2 * (job.training.optimizer == Optimizer::adam_8bit ? kMomentIn8Bits : kMoment);
}

// Bytes of state for each parameter of a stage that projections of gradients add, mostly less than 0.
double bytes_of_projections(const Job& job, const StageParameters& parameters) {
  if (!job.training.low_rank_gradients.any() || parameters.elements <= 0) return 0;
  const LowRankState& low = parameters.low_rank;
  return (moment_bytes(job) * (low.projected - low.elements) + projector_bytes(job) * low.projectors) /
         parameters.elements;
}

// The same of the bytes that a step moves, products aside.
double traffic_of_projections(const Job& job, const StageParameters& parameters) {
  if (!job.training.low_rank_gradients.any() || parameters.elements <= 0) return 0;
  constexpr double scaled = 2 * 4;
  constexpr double beside_moments = 13 * 4;
  const LowRankState& low = parameters.low_rank;
  // For both products: the cast reads a byte and writes a value, the two kernels after it read and write values.
  const double whole = job.training.low_rank_gradients.quantized_projectors ? 2 * (1 + 5 * gradient_bytes(job)) : 0;
  return (2 * moment_bytes(job) * (low.projected - low.elements) + scaled * low.elements +
          beside_moments * low.projected + whole * low.projectors) /
         parameters.elements;
}

double state_bytes(const Job& job, const StageParameters& parameters) {
  switch (job.training.optimizer) {
    case Optimizer::none:
      return 0;
    case Optimizer::sgd:
      return adam_bytes(job) - kMoment;
    case Optimizer::adam_8bit:
      return adam_bytes(job) - 2 * (kMoment - kMomentIn8Bits);
    case Optimizer::adafactor:
      return adam_bytes(job) - 2 * kMoment;
    case Optimizer::muon:
      return adam_bytes(job) - kMoment * matrix_share(parameters);
    default:
      return adam_bytes(job);
  }
}

double traffic_bytes(const Job& job, const StageParameters& parameters) {
  constexpr double lamb_beyond_adam = 20;
  switch (job.training.optimizer) {
    case Optimizer::none:
      return 0;
    case Optimizer::sgd:
      return adam_traffic_bytes(job) - 2 * kMoment;
    case Optimizer::adam_8bit:
      return adam_traffic_bytes(job) - 4 * (kMoment - kMomentIn8Bits);
    case Optimizer::adafactor:
      return adam_traffic_bytes(job) - 4 * kMoment + 2 * kGradient;
    case Optimizer::lamb:
      return adam_traffic_bytes(job) + lamb_beyond_adam;
    case Optimizer::muon:
      return adam_traffic_bytes(job) - 2 * kMoment * matrix_share(parameters);
    case Optimizer::adam:
      break;
  }
  return adam_traffic_bytes(job);
}

}  // namespace

bool has_master_copy(const Framework& framework) { return framework.memory.optimizer_bytes > 2 * kMoment; }

double optimizer_bytes(const Job& job, const StageParameters& parameters) {
  return state_bytes(job, parameters) + bytes_of_projections(job, parameters);
}

double optimizer_traffic_bytes(const Job& job, const StageParameters& parameters) {
  return traffic_bytes(job, parameters) + traffic_of_projections(job, parameters);
}

double host_step_seconds(const Job& job, const StageParameters& parameters) {
  const HostHabits& host = job.framework.host;
  const DataParallelPlan sharing = data_parallel_plan(job);
  const bool in_pieces = sharing.gather == DataParallelPlan::Gather::after_step ||
                         sharing.gather == DataParallelPlan::Gather::first_forward;
  const double of_tensor = host.step_tensor_s + (in_pieces ? sharing.shards * host.step_piece_s : 0);
  return host.step_s + host.stall_s * static_cast<double>(job.strategy.ranks()) + parameters.tensors * of_tensor;
}

FoldedBody step_body(const Job& job, const StageParameters& parameters, const StageCosts& costs) {
  FoldedBody folded;
  folded.host = folded.lead = to_picoseconds(costs.host_seconds(host_step_seconds(job, parameters)));
  if (job.training.optimizer == Optimizer::none) return folded;
  const double on_device = 1 - job.strategy.offload_optimizer;
  folded.bytes = on_device * shard_of(job, parameters.held()) * optimizer_traffic_bytes(job, parameters);
  const KernelCost cost = costs.kernels.price_memory_bound(folded.bytes);
  const bool partitioned = job.strategy.zero == 1 && job.strategy.replicas() > 1 && job.strategy.pipeline > 1;
  const double per_parameter = partitioned ? job.framework.sharding.step_s_per_parameter : 0;
  const double beside = per_parameter * parameters.held().total() * costs.kernels.time_factor();
  const double offloaded = offloaded_step(job, parameters, costs.hardware->hardware).seconds();
  folded.device = to_picoseconds(std::max(cost.seconds + beside, offloaded));
  folded.energy_j = energy_above_waiting_j(costs.kernels, cost);
  folded.activity_s[static_cast<std::size_t>(Activity::optimizer)] = to_seconds(folded.device);
  return folded;
}

namespace {

// Returns products of an optimizer's step as a body.
FoldedBody body_of_products(double seconds, double flop, double bytes, double energy_j) {
  FoldedBody out;
  out.device = out.kernels = to_picoseconds(seconds);
  out.flop = out.executed_flop = flop;
  out.bytes = bytes;
  out.energy_j = energy_j;
  out.activity_s[static_cast<std::size_t>(Activity::optimizer)] = to_seconds(out.device);
  return out;
}

}  // namespace

FoldedBody orthogonalization_body(const Job& job, const StagePlan& plan) {
  Orthogonalization all;
  for (const ChunkPlan& chunk : plan.chunks) {
    for (const BlockRun& run : chunk.runs) {
      if (run.forward_only) continue;
      const Orthogonalization& block = plan.bodies_of(run.block).orthogonalization;
      all.seconds += run.count * block.seconds;
      all.energy_j += run.count * block.energy_j;
      all.flop += run.count * block.flop;
      all.bytes += run.count * block.bytes;
      all.largest_s = std::max(all.largest_s, block.largest_s);
    }
  }
  const double ranks = job.strategy.zero == 1 ? static_cast<double>(job.strategy.shards()) : 1;
  return body_of_products(std::max(all.seconds / ranks, all.largest_s), all.flop / ranks, all.bytes / ranks,
                          all.energy_j / ranks);
}

LowRankStep low_rank_step(const StagePlan& plan) {
  LowRankStep all;
  for (const ChunkPlan& chunk : plan.chunks) {
    for (const BlockRun& run : chunk.runs) {
      if (run.forward_only) continue;
      const LowRankStep& block = plan.bodies_of(run.block).low_rank;
      all.seconds += run.count * block.seconds;
      all.search_s += run.count * block.search_s;
      all.energy_j += run.count * block.energy_j;
      all.flop += run.count * block.flop;
      all.bytes += run.count * block.bytes;
    }
  }
  return all;
}

FoldedBody low_rank_body(const StagePlan& plan) {
  const LowRankStep all = low_rank_step(plan);
  return body_of_products(all.seconds, all.flop, all.bytes, all.energy_j);
}

FoldedBody update_body(const StagePlan& plan) {
  FoldedBody out;
  for (const ChunkPlan& chunk : plan.chunks) {
    for (const BlockRun& run : chunk.runs) {
      if (!run.forward_only) append(out, repeated(plan.bodies_of(run.block).folded_update, run.count));
    }
  }
  return out;
}

FoldedBody optimizer_body(const Job& job, const StagePlan& plan) {
  FoldedBody out = step_body(job, plan.parameters, plan.costs);
  append(out, orthogonalization_body(job, plan));
  append(out, low_rank_body(plan));
  append(out, update_body(plan));
  return out;
}

}  // namespace mirfak
