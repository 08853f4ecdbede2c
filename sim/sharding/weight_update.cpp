#include "sharding/weight_update.hpp"

namespace mirfak {

namespace {

void append(std::vector<BlockStep>& steps, const PartitionedBlock& block, const DeviceMesh& mesh, OperatorId op,
            Phase phase, TensorId tensor, const Sharding& from, const Sharding& to) {
  std::vector<int> after;
  for (const ReshardStep& collective : reshard(block.graph, tensor, from, to, mesh, ReshardOrder::cheapest)) {
    BlockStep step = collective_step(collective, op, phase, tensor);
    step.after = std::move(after);
    after = {static_cast<int>(steps.size())};
    steps.push_back(std::move(step));
  }
}

}  // namespace

WeightUpdate weight_update(const PartitionedBlock& block, const DeviceMesh& mesh) {
  WeightUpdate out;
  for (const ParameterShard& shard : block.parameters) {
    if (shard.gradient < 0) continue;
    const Sharding& stepped = block.shardings[static_cast<std::size_t>(shard.gradient)];
    append(out.reductions, block, mesh, shard.made_by, Phase::weight_gradient, shard.gradient, shard.gradient_made,
           stepped);
    append(out.gathers, block, mesh, shard.made_by, Phase::update, shard.tensor, stepped,
           block.shardings[static_cast<std::size_t>(shard.tensor)]);
    const double element = block.graph.tensor(shard.gradient).bytes_per_element;
    out.state_elements += local_bytes(block.graph, shard.gradient, stepped, mesh) / element;
    out.gradient_bytes += local_bytes(block.graph, shard.gradient, shard.gradient_made, mesh);
  }
  return out;
}

}  // namespace mirfak
