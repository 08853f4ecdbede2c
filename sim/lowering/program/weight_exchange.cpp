#include "program/weight_exchange.hpp"

#include "program/optimizer_step.hpp"
#include "program/quantization_of_job.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace mirfak {

namespace {

// A rank's part of parameters outside experts, and of experts.
struct Parts {
  double shared = 0;
  double experts = 0;
};

Parts parts_of(const Job& job, const HeldParameters& held) {
  const double whole = held.counts.whole_elements;
  return {(held.shared - whole) / job.strategy.weight_group() + whole,
          held.experts / job.strategy.expert_weight_group()};
}

// Number of replicas that hold the same part.
int copies(const Strategy& strategy) { return strategy.replicas() / strategy.weight_group(); }
int expert_copies(const Strategy& strategy) { return strategy.expert_replicas() / strategy.expert_weight_group(); }

// Adds a collective over the groups of divided weights, one for each weight.
void add_by_weight(std::vector<ReplicaCollective>& out, const ReplicaCollective& of, double weights) {
  if (of.bytes <= 0) return;
  out.push_back(of);
  out.back().pieces = std::max(1, static_cast<int>(std::lround(weights)));
}

}  // namespace

double part_of_rank(const Job& job, const HeldParameters& held, Sharding StateSharding::*lies) {
  const Parts parts = parts_of(job, held);
  const bool divided = lies == &StateSharding::state && job.strategy.zero > 0;
  return divided ? parts.shared / copies(job.strategy) + parts.experts / expert_copies(job.strategy)
                 : parts.shared + parts.experts;
}

std::vector<ReplicaCollective> weight_gather(double width, const HeldParameters& weights) {
  const TensorCounts& counts = weights.counts;
  std::vector<ReplicaCollective> out;
  add_by_weight(out, {"gather weights", CollectiveKind::all_gather, weights.shared * width, ReplicaGroup::weights},
                counts.tensors - counts.expert_tensors);
  add_by_weight(
      out,
      {"gather experts' weights", CollectiveKind::all_gather, weights.experts * width, ReplicaGroup::expert_weights},
      counts.expert_tensors);
  return out;
}

std::vector<ReplicaCollective> weight_reduction(const Job& job, const HeldParameters& weights) {
  const TensorCounts& counts = weights.counts;
  const double width = gradient_bytes(job);
  std::vector<ReplicaCollective> out;
  add_by_weight(
      out, {"reduce weights' gradients", CollectiveKind::reduce_scatter, weights.shared * width, ReplicaGroup::weights},
      counts.tensors - counts.expert_tensors);
  add_by_weight(out,
                {"reduce gradients of experts' weights", CollectiveKind::reduce_scatter, weights.experts * width,
                 ReplicaGroup::expert_weights},
                counts.expert_tensors);
  return out;
}

namespace {

// Exchanges each rank's parts with the replicas that hold the same ones.
std::vector<ReplicaCollective> exchange_of_parts(const Job& job, CollectiveKind kind, double width,
                                                 const HeldParameters& held, const char* name, const char* of_experts) {
  const Parts parts = parts_of(job, held);
  std::vector<ReplicaCollective> out;
  const auto add = [&](const char* what, double elements, ReplicaGroup among, int ranks) {
    if (elements <= 0 || ranks <= 1) return;
    out.push_back({what, kind, elements * width, among});
    out.back().registered = job.strategy.registered_buffers;
  };
  add(name, parts.shared, ReplicaGroup::weight_copies, copies(job.strategy));
  add(of_experts, parts.experts, ReplicaGroup::expert_weight_copies, expert_copies(job.strategy));
  return out;
}

}  // namespace

std::vector<ReplicaCollective> gather_of_parts(const Job& job, const HeldParameters& held) {
  const double width = bytes_per_element(job.precision());
  return exchange_of_parts(job, CollectiveKind::all_gather, width, held, "gather parameters", "gather experts");
}

std::vector<ReplicaCollective> reduction_of_parts(const Job& job, const HeldParameters& held) {
  const CollectiveKind kind = job.strategy.zero > 0 ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
  return exchange_of_parts(job, kind, reduced_gradient_bytes(job), held, "reduce gradients",
                           "reduce experts' gradients");
}

std::vector<ReplicaCollective> reduction_of_whole(const Job& job, const HeldParameters& held) {
  const double bytes = held.counts.whole_elements * gradient_bytes(job);
  if (bytes <= 0 || job.strategy.weight_group() == 1) return {};
  return {{"reduce gradients of whole parameters", CollectiveKind::all_reduce, bytes, ReplicaGroup::weights}};
}

Body weight_kernels(const Job& job, const StageCosts& costs, const PassPart& part) {
  Body body;
  if (part.reduces.total() <= 0) return body;
  const auto add = [&](const char* name, double bytes) {
    body.steps.push_back(kernel_step(name, costs.kernels, costs.kernels.price_memory_bound(bytes)));
  };
  const double width = gradient_bytes(job);
  const double arriving =
      part.reduces.shared / job.strategy.weight_group() + part.reduces.experts / job.strategy.expert_weight_group();
  add("scale gradients", 2 * width * part.reduces.total());
  add("add gradients", 3 * width * arriving);
  return body;
}

namespace {

// Bytes of the parts of a stage's parameters on one rank, in all formats that they are kept in.
double bytes_of_parts(const Job& job, const StageParameters& of) {
  const double wide = bytes_per_element(job.precision());
  const std::optional<Quantization> narrow = job.training.fp8_parameters ? quantization_of(job) : std::nullopt;
  const double of_experts = narrow ? narrow->parameter_bytes * (narrow->second_copies ? 2 : 1) : wide;
  const double whole = of.counts.whole_elements * wide;
  const double experts = of.expert_elements * of_experts;
  return (of.bytes + of.copy_bytes - whole - experts) / job.strategy.weight_group() + whole +
         experts / job.strategy.expert_weight_group();
}

}  // namespace

MemoryUse divided_state(const Job& job, const StageParameters& of) {
  const HeldParameters held = of.held();
  const double ahead = job.training.cuda_graphs.iteration ? 1 : 2;
  const double directions = job.training.fp8_parameters ? 2 : 1;
  MemoryUse use;
  use.parameters = bytes_of_parts(job, of);
  use.gradients = part_of_rank(job, held, &StateSharding::gradients) * gradient_bytes(job);
  use.optimizer = part_of_rank(job, held, &StateSharding::state) * optimizer_bytes(job, of);
  const Parts arriving = parts_of(job, of.buffers);
  use.gathered = directions * (of.buffers.shared + ahead * of.buffers.experts) * of.gathered_bytes_per_element +
                 (of.buffers.total() + arriving.shared + arriving.experts) * gradient_bytes(job);
  return use;
}

}  // namespace mirfak
