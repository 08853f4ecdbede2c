#include "alpa/block_plan.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak::alpa {

namespace {

class PlanReader {
 public:
  PlanReader(const OperatorGraph& graph, const ShardingDecisions& decisions, const std::vector<int>& choices)
      : graph_(graph), decisions_(decisions), choices_(choices) {}

  void read(BlockPlan& out) const {
    out.shardings.tensors.resize(graph_.tensors.size());
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      out.shardings.tensors[i].axes.resize(graph_.tensors[i].axes.size());
      const auto id = static_cast<TensorId>(i);
      if (decisions_.of_tensor[i] < 0 || graph_.tensors[i].role == TensorRole::parameter_gradient) continue;
      out.shardings.tensors[i] = decisions_.sharding(graph_, id, choice(decisions_.of_tensor[i]));
    }
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
      const auto id = static_cast<OperatorId>(i);
      const LabelSharding labels = decisions_.labels(graph_, id, choice(decisions_.of_operator[i]));
      out.shardings.operators.push_back(labels);
      for (const Operand& output : graph_.operators[i].outputs) read_gradient(graph_.operators[i], output, labels, out);
    }
  }

 private:
  int choice(int decision) const { return choices_[static_cast<std::size_t>(decision)]; }

  void read_gradient(const Operator& op, const Operand& output, const LabelSharding& labels, BlockPlan& out) const {
    const Tensor& gradient = graph_.tensor(output.tensor);
    if (gradient.role != TensorRole::parameter_gradient) return;
    out.shardings.tensors[static_cast<std::size_t>(output.tensor)] = operand_sharding(output, labels);
    if (!makes_parameter_gradient(graph_, op, output)) return;
    const int owner = decisions_.of_tensor[static_cast<std::size_t>(gradient.of)];
    const Reduction reduction =
        decisions_.decisions[static_cast<std::size_t>(owner)].reductions[static_cast<std::size_t>(choice(owner))];
    const Sharding lies = decisions_.sharding(graph_, gradient.of, choice(owner));
    out.parameters.push_back(
        {gradient.of, reduction, gradient_reduction(result_sharding(op, output, labels), lies, reduction)});
  }

  const OperatorGraph& graph_;
  const ShardingDecisions& decisions_;
  const std::vector<int>& choices_;
};

}  // namespace

BlockPlan block_plan(const OperatorGraph& graph, const ShardingDecisions& decisions, const ChoiceProblem& problem,
                     const std::vector<int>& choices) {
  BlockPlan out;
  PlanReader(graph, decisions, choices).read(out);
  out.cost = cost_of(problem, choices);
  out.choices = choices;
  return out;
}

std::optional<BlockPlan> plan_block(const OperatorGraph& graph, const BlockPrices& prices, const PlanOptions& options,
                                    const PlanLimits& limits) {
  PlanOptions exact = options;
  exact.decisions.many_passes = options.microbatches > 1;
  const ShardingDecisions decisions = sharding_decisions(graph, prices.mesh.mesh, exact.decisions);
  const bool hopeless = std::any_of(decisions.decisions.begin(), decisions.decisions.end(),
                                    [](const ShardingDecision& decision) { return decision.choices.empty(); });
  if (hopeless) return std::nullopt;
  ChoiceProblem problem = block_problem(graph, decisions, prices, exact);
  problem.in_flight = limits.in_flight;
  problem.memory_limit = limits.memory;
  problem.longest = limits.seconds;
  const ChoiceSolution found = solve(problem, limits.solver_s);
  if (found.status == IntegerProgram::Status::infeasible) return std::nullopt;
  if (found.choices.empty()) {
    fail_infeasible({}, fmt::format("no plan of block {} was found in {:g} s", graph.name, limits.solver_s),
                    "allow more time");
  }
  BlockPlan out = block_plan(graph, decisions, problem, found.choices);
  out.proven = found.status == IntegerProgram::Status::optimal;
  out.variables = found.variables;
  out.rows = found.rows;
  return out;
}

}  // namespace mirfak::alpa
