#include "program/quantized_exchange.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

constexpr double kScaleBytes = 4;        // fp32
constexpr double kGatheredBytes = 1;     // of a value in 8 bits
constexpr double kExchangedBytes = 0.5;  // of a value in 4 bits
constexpr double kQuantizerBytes = 2;    // of a value as quantizers take and give it: fp16

// Elements of the gradients that cross in 4 bits.
double quantized_elements(const HeldParameters& held) { return held.total() - held.counts.whole_elements; }

int pieces(double tensors) { return std::max(1, static_cast<int>(std::lround(tensors))); }

}  // namespace

bool reduces_quantized(const Job& job) {
  return job.strategy.quantized_reductions && job.strategy.replicas() > job.places_in_node();
}

bool is_quantizable(const Job& job, double elements) { return std::fmod(elements, 2.0 * job.strategy.replicas()) == 0; }

std::vector<ReplicaCollective> quantized_reduction(const Job& job, const HeldParameters& held) {
  const double in_nodes = quantized_elements(held);
  const double between = in_nodes / job.places_in_node();
  const double scales = kScaleBytes / static_cast<double>(job.model.hidden);
  std::vector<ReplicaCollective> out;
  if (held.counts.tensors > 0) {
    const auto exchange = [&](const char* name, double bytes, ReplicaGroup among) {
      out.push_back({name, CollectiveKind::all_to_all, bytes, among, pieces(held.counts.tensors)});
    };
    exchange("exchange gradients in nodes", in_nodes * kExchangedBytes, ReplicaGroup::node);
    exchange("exchange scales in nodes", in_nodes * scales, ReplicaGroup::node);
    exchange("exchange gradients between nodes", between * kExchangedBytes, ReplicaGroup::between_nodes);
    exchange("exchange scales between nodes", between * scales, ReplicaGroup::between_nodes);
  }
  if (held.counts.whole_elements > 0) {
    out.push_back({"reduce gradients", CollectiveKind::reduce_scatter,
                   held.counts.whole_elements * reduced_gradient_bytes(job), ReplicaGroup::shard,
                   pieces(held.counts.whole_tensors), job.framework.sharding.max_reduce_bytes_per_s});
  }
  return out;
}

int holders_of(const Job& job, GatheredFrom from) {
  return from == GatheredFrom::second_copy ? job.strategy.zero_second_group : job.strategy.shards();
}

std::vector<ReplicaCollective> gather_of_copies(const Job& job, double width, const HeldParameters& held,
                                                GatheredFrom from) {
  const bool second = from == GatheredFrom::second_copy;
  const ReplicaGroup among = second ? ReplicaGroup::second : ReplicaGroup::shard;
  const ShardingHabits& habits = job.framework.sharding;
  const bool narrow = job.strategy.quantized_gathers;
  std::vector<ReplicaCollective> out;
  const auto gather = [&](const char* name, const char* of_second, double bytes_per_value) {
    out.push_back({second ? of_second : name, CollectiveKind::all_gather, held.total() * bytes_per_value, among, 1,
                   habits.max_gather_bytes_per_s});
  };
  gather("gather parameters", "gather parameters from the second copy", narrow ? kGatheredBytes : width);
  if (narrow) {
    gather("gather scales", "gather scales from the second copy", kScaleBytes / habits.gather_scale_values);
  }
  return out;
}

double exchange_buffers(const Job& job, double arriving, double largest) {
  const double gathers = job.strategy.quantized_gathers ? arriving * kGatheredBytes : 0;
  return gathers + (reduces_quantized(job) ? 2 * largest * kExchangedBytes : 0);
}

double second_copy_bytes(const Job& job, const StageParameters& of) {
  if (job.strategy.zero_second_group == 0) return 0;
  return (of.elements + of.frozen_elements) / job.strategy.zero_second_group * of.gathered_bytes_per_element;
}

std::vector<ExchangeKernel> gather_kernels(const Job& job, const HeldParameters& gathered, GatheredFrom from) {
  if (!job.strategy.quantized_gathers || gathered.total() == 0) return {};
  const double cast = job.precision() == Precision::fp16 ? 0 : job.framework.sharding.quantizer_cast_bytes;
  const double sent = gathered.total() / holders_of(job, from);
  const double moved = kQuantizerBytes + kGatheredBytes;
  std::vector<ExchangeKernel> out;
  if (cast > 0) out.push_back({"cast parameters for quantization", sent * cast});
  out.push_back({"quantize parameters", sent * moved});
  out.push_back({"dequantize parameters", gathered.total() * moved});
  if (cast > 0) out.push_back({"cast dequantized parameters", gathered.total() * cast});
  return out;
}

std::vector<ExchangeKernel> reduction_kernels(const Job& job, const HeldParameters& reduced) {
  if (!reduces_quantized(job) || reduced.counts.tensors == 0) return {};
  const double elements = quantized_elements(reduced);
  const int tensors = pieces(reduced.counts.tensors);
  const int in_node = job.places_in_node();
  const int nodes = job.strategy.replicas() / in_node;
  const double summed = elements / in_node;                       // values of one rank after the sum over its node
  const double kept = summed / nodes;                             // ... and after the sum over the nodes
  const double added = (3 * nodes + 2) * kQuantizerBytes * kept;  // a sum for each node, and a division
  return {{"quantize gradients", elements * (kQuantizerBytes + kExchangedBytes), tensors},
          {"sum and quantize gradients", (elements + summed) * kExchangedBytes, tensors},
          {"dequantize gradients", summed * (kExchangedBytes + kQuantizerBytes), tensors},
          {"add gradients of nodes", added, (nodes + 1) * tensors}};
}

}  // namespace mirfak
