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
    if (shard.gradients.empty()) continue;
    const auto& lies = [&](TensorId tensor) -> const Sharding& {
      return block.shardings[static_cast<std::size_t>(tensor)];
    };
    for (const GradientLeft& left : shard.gradients) {
      append(out.reductions, block, mesh, left.made_by, Phase::weight_gradient, left.tensor, left.made,
             lies(left.tensor));
      out.gradient_bytes += local_bytes(block.graph, left.tensor, left.made, mesh);
    }
    const GradientLeft& sum = shard.gradients.back();
    append(out.gathers, block, mesh, sum.made_by, Phase::update, shard.tensor, lies(sum.tensor), lies(shard.tensor));
    const double element = block.graph.tensor(sum.tensor).bytes_per_element;
    out.state_elements += local_bytes(block.graph, sum.tensor, lies(sum.tensor), mesh) / element;
  }
  return out;
}

}  // namespace mirfak
