// The planner against every plan of a block, each lowered by partition() and priced step by step: neither the choice
// problem nor its reduction nor the solver has a part in what they are compared with.

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

struct AllPlans {
  std::vector<Cost> costs;

  double least_seconds(const PlanLimits& limits) const {
    double least = std::numeric_limits<double>::infinity();
    for (const Cost& cost : costs) {
      const double bytes = cost.state_bytes + limits.in_flight * cost.activation_bytes;
      if (bytes <= limits.memory) least = std::min(least, cost.seconds);
    }
    return least;
  }
};

AllPlans all_plans(const OperatorGraph& graph, const BlockPrices& prices, PlanOptions options) {
  options.decisions.many_passes = options.microbatches > 1;
  const ShardingDecisions decisions = sharding_decisions(graph, prices.mesh.mesh, options.decisions);
  const ChoiceProblem problem = block_problem(graph, decisions, prices, options);
  AllPlans out;
  for_all_choices(problem, [&](const std::vector<int>& choices) {
    const BlockPlan plan = block_plan(graph, decisions, problem, choices);
    if (!std::isfinite(plan.cost.seconds)) return;
    out.costs.push_back(lowered_cost(graph, plan, prices, options));
  });
  return out;
}

// Compares without a limit, and under limits between what the smallest and the fastest plan take.
void check_against_all(const OperatorGraph& graph, const BlockPrices& prices, const PlanOptions& options) {
  const AllPlans all = all_plans(graph, prices, options);
  REQUIRE(all.costs.size() > 20);
  double smallest = std::numeric_limits<double>::infinity();
  double largest = 0;
  for (const Cost& cost : all.costs) {
    smallest = std::min(smallest, cost.state_bytes + 2 * cost.activation_bytes);
    largest = std::max(largest, cost.state_bytes + 2 * cost.activation_bytes);
  }
  for (const double share : {2.0, 0.6, 0.3, 0.1, 0.02, 0.0, -0.1}) {
    CAPTURE(share);
    PlanLimits limits;
    limits.in_flight = 2;
    limits.memory = (smallest + share * (largest - smallest)) * (1 + 1e-6);
    const std::optional<BlockPlan> plan = plan_block(graph, prices, options, limits);
    const bool fits = share >= 0;
    REQUIRE(plan.has_value() == fits);
    if (!plan) continue;
    CHECK(plan->proven);
    CHECK(plan->cost.seconds == doctest::Approx(all.least_seconds(limits)).epsilon(1e-6));
  }
}

constexpr const char* kProduct = R"(block product(hidden, ffn):
  axes   b=batch s=sequence h=hidden f=ffn
  input  x[b s h]
  param  w[h f] linear
  out[b s f] = relu(x[b s h] w[h f]))";

constexpr const char* kNormed = R"(block normed(hidden):
  axes   b=batch s=sequence h=hidden i=hidden
  input  x[b s h]
  param  n[h] w[h i] linear
  out[b s i] = rms_norm(x, n; h)[b s h] w[h i])";

class RandomSizes {
 public:
  explicit RandomSizes(unsigned seed) : random_(seed) {}
  double power(int least, int most) { return std::exp2(std::uniform_int_distribution<int>(least, most)(random_)); }

 private:
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("a product on four devices: the fastest of all plans, at any memory limit") {
  const Machine machine("aws-p3", 2);
  for (unsigned seed = 0; seed < 3; ++seed) {
    CAPTURE(seed);
    RandomSizes sizes(seed);
    const OperatorGraph graph = with_backward(compiled(kProduct, {{"batch", sizes.power(1, 5)},
                                                                  {"sequence", 128},
                                                                  {"hidden", sizes.power(8, 12)},
                                                                  {"ffn", sizes.power(8, 12)}}),
                                              {});
    const LogicalMesh mesh = machine.mesh(2, 2);
    PlanOptions options;
    options.microbatches = seed == 0 ? 1 : 16;
    check_against_all(graph, {machine.kernels(), machine.collectives(), mesh}, options);
  }
}

TEST_CASE("an MLP on two devices of two nodes or one") {
  const Machine machine("dgx-a100-80g", 2, Precision::bf16);
  for (unsigned seed = 0; seed < 4; ++seed) {
    CAPTURE(seed);
    RandomSizes sizes(10 + seed);
    const OperatorGraph graph = with_backward(compiled(kMlpText, {{"batch", sizes.power(0, 4)},
                                                                  {"sequence", 256},
                                                                  {"hidden", sizes.power(8, 13)},
                                                                  {"ffn", sizes.power(8, 13)}}),
                                              {});
    const LogicalMesh mesh = seed % 2 == 0 ? machine.mesh(1, 2) : logical_mesh(machine.cluster(), 2, 1, 1, 2);
    PlanOptions options;
    options.decisions.repeats = seed > 1;
    options.microbatches = seed == 0 ? 1 : 8;
    if (seed == 3) options.dropped = all_activations(graph);
    check_against_all(graph, {machine.kernels(), machine.collectives(), mesh}, options);
  }
}

TEST_CASE("gradients that decide for themselves, axes that nobody divides as a rule") {
  const Machine machine("aws-p3", 1);
  const LogicalMesh mesh = machine.mesh(1, 2);
  const OperatorGraph graph = with_backward(compiled(kNormed, {{"batch", 2}, {"sequence", 128}, {"hidden", 4096}}), {});
  PlanOptions options;
  options.decisions.gradients_follow = false;
  check_against_all(graph, {machine.kernels(), machine.collectives(), mesh}, options);
  options.decisions.gradients_follow = true;
  options.decisions.every_axis = true;
  check_against_all(graph, {machine.kernels(), machine.collectives(), mesh}, options);
}

TEST_CASE("an embedding and a convolution on four devices") {
  const Machine machine("aws-p3", 1);
  const LogicalMesh mesh = machine.mesh(2, 2);
  PlanOptions options;
  options.microbatches = 4;
  check_against_all(
      with_backward(compiled(kEmbeddingText, {{"batch", 8}, {"sequence", 128}, {"hidden", 1024}, {"vocab", 8192}}), {}),
      {machine.kernels(), machine.collectives(), mesh}, options);
  const LogicalMesh pair = machine.mesh(1, 2);
  check_against_all(
      with_backward(
          compiled(kConvolutionText,
                   {{"batch", 8}, {"sequence", 1}, {"channels", 256}, {"wide", 512}, {"image", 14}, {"taps", 3}}),
          {}),
      {machine.kernels(), machine.collectives(), pair}, options);
}
