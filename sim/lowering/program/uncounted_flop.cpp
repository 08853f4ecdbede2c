#include "program/uncounted_flop.hpp"

#include "graph/missing_gradients.hpp"
#include "program/expert_load.hpp"

#include <algorithm>

namespace mirfak {

namespace {

// FLOPs of gradients that are never computed.
double missing_flop(const PartitionedBlock& block, const StageCosts& costs) {
  const bool differentiated = has_gradients(block.graph);
  double flop = 0;
  for (const BlockStep& step : block.forward) {
    if (step.kind != BlockStep::Kind::kernel) continue;
    const int missing = missing_gradients(block.graph, block.graph.op(step.op), differentiated);
    if (missing > 0) flop += missing * costs.kernels.price(block, step).flop;
  }
  return flop;
}

// FLOPs of one forward pass on rows that no token chose.
double padding_flop(const Job& job, const PartitionedBlock& block, const StageCosts& costs) {
  const double rows = expert_rows(job);
  if (rows <= 1) return 0;
  double flop = 0;
  for (const BlockStep& step : block.forward) {
    if (step.kind != BlockStep::Kind::kernel) continue;
    const Operator& op = block.graph.op(step.op);
    const bool of_experts = std::any_of(op.inputs.begin(), op.inputs.end(), [&](const Operand& input) {
      return block.graph.tensor(input.tensor).density < 1;
    });
    if (of_experts) flop += costs.kernels.price(block, step).flop * (1 - 1 / rows);
  }
  return flop;
}

}  // namespace

double uncounted_flop(const Job& job, const PartitionedBlock& block, const StageCosts& costs) {
  return missing_flop(block, costs) + 3 * padding_flop(job, block, costs);
}

}  // namespace mirfak
