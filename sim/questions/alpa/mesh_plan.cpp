#include "alpa/mesh_plan.hpp"

#include "strategy/rules.hpp"

#include <algorithm>

namespace mirfak::alpa {

namespace {

constexpr double kRounding = 1 + 1e-9;
constexpr MeshAxisSet kByRows(kRows);
constexpr MeshAxisSet kByColumns(kColumns);

AxisDivision division_of_streams(const Strategy& strategy) {
  AxisDivision out = {{Parallelism::data, kByRows}};
  if (strategy.sequence_parallel) out[Parallelism::tokens] = kByColumns;
  return out;
}

// Returns the divisions that a strategy expresses. With experts of one rank each, columns divide experts as rows do;
// else columns divide each expert as they divide the rest of the model.
DivisionRules rules_of(const Strategy& strategy, bool experts_whole) {
  AxisDivision operators = {{Parallelism::data, kByRows}, {Parallelism::tensor, kByColumns}};
  if (strategy.expert_tensor != 1) operators[Parallelism::expert_tensor] = kByColumns;
  if (!experts_whole) {
    operators[Parallelism::experts] = strategy.expert_tensor == 1 ? MeshAxisSet{kRows, kColumns} : kByRows;
  }
  AxisDivision tensors = operators;
  if (strategy.sequence_parallel) tensors[Parallelism::tokens] = kByColumns;
  return {operators, tensors};
}

PlanOptions options_of(const Job& job, Freedom freedom) {
  PlanOptions out;
  out.decisions.streams_divided = division_of_streams(job.strategy);
  out.decisions.divides_state = job.framework.sharding.max_zero > 0;
  out.microbatches = microbatches(job.strategy, job.training);
  out.state.gradient = out.state.reduced = gradient_bytes(job);
  if (freedom != Freedom::any) {
    out.decisions.rules = rules_of(job.strategy, freedom == Freedom::experts_whole);
    out.all_devices = true;
  }
  return out;
}

// Returns the mesh axes by which a plan divides experts.
MeshAxisSet experts_divided(const OperatorGraph& graph, const ShardingPlan& plan) {
  MeshAxisSet out;
  for (std::size_t id = 0; id < graph.operators.size(); ++id) {
    if (graph.operators[id].kind != OperatorKind::einsum) continue;
    for (std::size_t axis = 0; axis < graph.axes.size(); ++axis) {
      if (graph.axes[axis].divided_by == Parallelism::experts) out.insert(plan.operators[id][axis]);
    }
  }
  return out;
}

PlanLimits limits_within(const WithinPlan& within, BlockId block) {
  const Cost& cost = within.plan.blocks[static_cast<std::size_t>(block)].cost;
  PlanLimits out;
  out.in_flight = within.in_flight;
  out.memory = (cost.state_bytes + within.in_flight * cost.activation_bytes) * kRounding;
  out.solver_s = within.solver_s;
  return out;
}

}  // namespace

double MeshPlan::seconds(const std::vector<int>& counts) const {
  double sum = 0;
  for (std::size_t id = 0; id < counts.size(); ++id) sum += counts[id] * blocks[id].cost.seconds;
  return sum;
}

MeshPlan plan_mesh(const MeshSite& site, Freedom freedom, const std::optional<WithinPlan>& within) {
  const PlanOptions options = options_of(site.job, freedom);
  const BlockPrices prices = {site.costs.kernels, site.costs.communication, site.mesh};
  MeshPlan out;
  for (BlockId id = 0; id <= site.blocks.head_id(); ++id) {
    const PartitionedBlock& block = site.blocks.of(id);
    const bool layer = id != ShardedBlocks::kEmbedding && id != site.blocks.head_id();
    PlanOptions own = options;
    own.decisions.repeats = layer;
    if (layer && !site.blocks.is_kept(id)) own.dropped = dropped_activations(site.job, block);
    const PlanLimits limits = within ? limits_within(*within, id) : PlanLimits();
    const std::optional<BlockPlan> plan = plan_block(block.graph, prices, own, limits);
    ++out.programs;
    if (!plan) return out;
    out.blocks.push_back({plan->cost, plan->proven});
    const auto divided = site.mesh.mesh.size(experts_divided(block.graph, plan->shardings));
    out.expert = std::max(out.expert, static_cast<int>(divided));
  }
  out.possible = true;
  return out;
}

}  // namespace mirfak::alpa
