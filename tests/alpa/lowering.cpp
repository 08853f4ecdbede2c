// The choice problem counts the cost of the steps that partition() makes of a plan: of any, not of good ones alone.

#include "alpa/block_plan.hpp"
#include "block_texts.hpp"
#include "enumeration.hpp"
#include "graph/backward.hpp"
#include "lowered_cost.hpp"
#include "planning_fixture.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace mirfak;
using namespace mirfak::alpa;
using namespace mirfak::test;

namespace {

// Compares some plans of a block chosen at random; returns how many could be taken.
int compare_random_plans(const OperatorGraph& graph, const Machine& machine, int rows, int columns,
                         const PlanOptions& options, int plans, unsigned seed) {
  const LogicalMesh mesh = machine.mesh(rows, columns);
  const BlockPrices prices = {machine.kernels(), machine.collectives(), mesh};
  const ShardingDecisions decisions = sharding_decisions(graph, mesh.mesh, options.decisions);
  const ChoiceProblem problem = block_problem(graph, decisions, prices, options);
  std::mt19937 random(seed);
  int possible = 0;
  for (int plan = 0; plan < plans; ++plan) {
    std::vector<int> choices;
    for (const ChoiceProblem::Decision& decision : problem.decisions) {
      choices.push_back(std::uniform_int_distribution<int>(0, static_cast<int>(decision.costs.size()) - 1)(random));
    }
    make_possible(problem, choices);
    const Cost counted = cost_of(problem, choices);
    if (!std::isfinite(counted.seconds)) continue;
    ++possible;
    const Cost lowered = lowered_cost(graph, block_plan(graph, decisions, problem, choices), prices, options);
    CHECK(lowered.seconds == doctest::Approx(counted.seconds).epsilon(1e-9));
    CHECK(lowered.state_bytes == doctest::Approx(counted.state_bytes).epsilon(1e-9));
    CHECK(lowered.activation_bytes == doctest::Approx(counted.activation_bytes).epsilon(1e-9));
  }
  return possible;
}

}  // namespace

TEST_CASE("the lowered plan has exactly the kernels, collectives and bytes that were counted") {
  const Machine machine("dgx-a100-80g", 2, Precision::bf16);
  unsigned seed = 1;
  for (const BlockText& block : block_texts()) {
    CAPTURE(block.name);
    const OperatorGraph graph = with_backward(compiled(block.text, block.sizes), {});
    for (const bool follow : {true, false}) {
      for (const bool recompute : {true, false}) {
        for (const int microbatches : {1, 4}) {
          CAPTURE(follow);
          PlanOptions options;
          options.decisions.gradients_follow = follow;
          options.decisions.every_axis = true;
          options.decisions.many_passes = microbatches > 1;
          options.microbatches = microbatches;
          if (recompute) options.dropped = all_activations(graph);
          CHECK(compare_random_plans(graph, machine, 2, 4, options, 12, seed++) > 0);
          CHECK(compare_random_plans(graph, machine, 4, 4, options, 6, seed++) > 0);
        }
      }
    }
  }
}
