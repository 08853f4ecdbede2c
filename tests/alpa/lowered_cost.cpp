#include "lowered_cost.hpp"

#include "sharding/partition.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace mirfak::alpa;

namespace mirfak::test {

namespace {

double seconds_of_steps(const PartitionedBlock& block, const std::vector<BlockStep>& steps, const BlockPrices& prices) {
  double seconds = 0;
  for (const BlockStep& step : steps) {
    seconds += step.kind == BlockStep::Kind::kernel
                   ? prices.kernels.price(block, step).seconds
                   : prices.collectives.price(step.collective, step.bytes, prices.mesh.group(step.over)).seconds;
  }
  return seconds;
}

// The elements of a parameter's gradient on a device, as the first operator that makes it leaves it.
double elements_left(const PartitionedBlock& block, TensorId parameter, const DeviceMesh& mesh) {
  for (std::size_t id = 0; id < block.graph.tensors.size(); ++id) {
    const Tensor& tensor = block.graph.tensors[id];
    if (tensor.role != TensorRole::parameter_gradient || tensor.of != parameter) continue;
    return local_bytes(block.graph, static_cast<TensorId>(id), block.shardings[id], mesh) / tensor.bytes_per_element;
  }
  FAIL("a trained parameter without gradient");
  return 0;
}

// The cost of one parameter: seconds for each microbatch, and the state on a device.
Cost cost_of_state(const PartitionedBlock& block, const ParameterShard& shard, const ParameterPlan& plan,
                   const Sharding& lies, const BlockPrices& prices, const PlanOptions& options) {
  MeshAxisSet divides;
  for (const MeshAxisSet axes : lies.axes) divides.insert(axes);
  MeshAxisSet scattered = shard.gradient_partial;
  MeshAxisSet reduced = shard.gradient_partial;
  MeshAxisSet gathered;
  if (plan.reduction == Reduction::whole) {
    for (const MeshAxis axis : {kRows, kColumns}) (divides.contains(axis) ? reduced : scattered).erase(axis);
  } else {
    reduced = {};
    gathered = shard.gradient_partial;
    gathered.erase(divides);
  }
  const DeviceMesh& mesh = prices.mesh.mesh;
  const double unreduced = elements_left(block, shard.tensor, mesh);
  const double after = unreduced / static_cast<double>(mesh.size(scattered));
  const auto price = [&](CollectiveKind kind, MeshAxisSet over, double bytes) {
    return mesh.size(over) == 1 ? 0 : prices.collectives.price(kind, bytes, prices.mesh.group(over)).seconds;
  };
  const double reducing = price(CollectiveKind::reduce_scatter, scattered, unreduced * options.state.reduced) +
                          price(CollectiveKind::all_reduce, reduced, after * options.state.reduced);
  const double gathering =
      price(CollectiveKind::all_gather, gathered, shard.elements * block.graph.tensor(shard.tensor).bytes_per_element);
  const bool every_pass = plan.reduction == Reduction::every_pass;
  Cost out;
  out.seconds = (every_pass ? reducing : reducing / options.microbatches) + gathering / options.microbatches;
  out.state_bytes = (every_pass || options.microbatches == 1 ? after : unreduced) * options.state.gradient +
                    shard.elements / static_cast<double>(mesh.size(gathered)) * options.state.optimizer;
  return out;
}

}  // namespace

Cost lowered_cost(const OperatorGraph& graph, const BlockPlan& plan, const BlockPrices& prices,
                  const PlanOptions& options) {
  const PartitionedBlock block = partition(graph, prices.mesh.mesh, plan.shardings, {}, options.dropped);
  Cost out;
  for (const std::vector<BlockStep>* steps : {&block.forward, &block.recompute, &block.backward}) {
    out.seconds += seconds_of_steps(block, *steps, prices);
  }
  out.seconds += seconds_of_steps(block, block.update, prices) / options.microbatches;
  out.state_bytes = block.parameter_bytes + block.parameter_copy_bytes;
  out.activation_bytes = block.kept_bytes;
  std::map<TensorId, ParameterPlan> plans;
  for (const ParameterPlan& parameter : plan.parameters) plans[parameter.tensor] = parameter;
  for (const ParameterShard& shard : block.parameters) {
    const auto found = plans.find(shard.tensor);
    if (found == plans.end()) continue;  // frozen, or without use
    out += cost_of_state(block, shard, found->second, plan.shardings.tensors[static_cast<std::size_t>(shard.tensor)],
                         prices, options);
  }
  return out;
}

}  // namespace mirfak::test
