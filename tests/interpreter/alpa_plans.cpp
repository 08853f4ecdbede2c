// Plans of Alpa's integer program, its best ones and any others, are executed as plans of annotations are.

#include "alpa/block_plan.hpp"
#include "graph/backward.hpp"
#include "interpreter/sharding_cases.hpp"
#include "tests/alpa/block_texts.hpp"
#include "tests/alpa/enumeration.hpp"
#include "tests/alpa/planning_fixture.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace alpa_plans_test {

using namespace mirfak;
using namespace mirfak::alpa;
using namespace mirfak::test;

namespace {

// Small enough to run with numbers.
block::Sizes small(block::Sizes sizes) {
  for (auto& [name, size] : sizes) {
    size = name == "taps" ? 3 : name == "per_token" || name == "head_dim" ? 2 : name == "sequence" ? 8 : 4;
  }
  sizes.try_emplace("batch", 4);
  return sizes;
}

void check(const Subject& subject, const LogicalMesh& mesh, const BlockPlan& plan, const PlanOptions& options,
           int& proved) {
  const std::optional<std::string> fault = fault_of(subject, mesh.mesh, plan.shardings, options.dropped);
  if (!fault) return;
  ++proved;
  if (fault->empty()) return;
  std::string choices;
  for (const int choice : plan.choices) choices += fmt::format(" {}", choice);
  FAIL_CHECK(fmt::format("{}: choices{}\n{}\nmesh {}", *fault, choices, subject.text, described(mesh.mesh)));
}

}  // namespace

TEST_CASE("plans of the integer program, and random choices, are executed") {
  constexpr int kPlans = 8;
  const Machine machine("dgx-a100-80g", 1, Precision::bf16);
  std::mt19937 random(1);
  int proved = 0;
  int best = 0;
  for (const BlockText& block : block_texts()) {
    const Subject subject(block.name, with_backward(compiled(block.text, small(block.sizes)), {}));
    for (const int columns : {2, 4}) {
      for (const bool follow : {true, false}) {
        PlanOptions options;
        options.decisions.gradients_follow = follow;
        options.decisions.every_axis = true;
        if (columns == 4) options.dropped = all_activations(subject.graph);
        const LogicalMesh mesh = machine.mesh(2, columns);
        const BlockPrices prices = {machine.kernels(), machine.collectives(), mesh};
        const ShardingDecisions decisions = sharding_decisions(subject.graph, mesh.mesh, options.decisions);
        const ChoiceProblem problem = block_problem(subject.graph, decisions, prices, options);
        for (int plan = 0; plan < kPlans; ++plan) {
          std::vector<int> choices;
          for (const ChoiceProblem::Decision& decision : problem.decisions) {
            choices.push_back(below(random, static_cast<int>(decision.costs.size())));
          }
          make_possible(problem, choices);
          if (!std::isfinite(cost_of(problem, choices).seconds)) continue;
          check(subject, mesh, block_plan(subject.graph, decisions, problem, choices), options, proved);
        }
        if (const auto found = plan_block(subject.graph, prices, options, {})) {
          check(subject, mesh, *found, options, best);
        }
      }
    }
  }
  MESSAGE(best << " best plans and " << proved << " others proved");
  CHECK(best > 0);
  CHECK(proved > 60);
}

}  // namespace alpa_plans_test
