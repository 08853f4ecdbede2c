// The order in which ranks are numbered (strategy.rank_order): which groups lie in one node, and what that costs.

#include "engine/execute.hpp"
#include "job_fixture.hpp"
#include "program/data_parallel.hpp"
#include "program/replica_classes.hpp"
#include "program/transfer_cost.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace rank_order_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr RankOrder kOrders[] = {RankOrder::pipeline_last, RankOrder::data_last};

// A job on nodes of 8 DGX A100.
Job job_of(RankOrder order, int tensor, int pipeline, int data, int context = 1) {
  Strategy s = sized(tensor, data, pipeline);
  s.context = context;
  s.rank_order = order;
  const int nodes = (tensor * pipeline * data * context + 7) / 8;
  Job job = small_job(12, nodes, s, 12 * data);
  job.framework = test::framework_named("megatron-core");
  return job;
}

Picoseconds makespan(const Job& job, const LoweringOptions& options = {}) {
  const Program program = Lowered(job).program(options);
  program.validate();
  return execute(program, Executor::events).makespan;
}

}  // namespace

// Tensor 2, pipeline 2, data 2. tp-dp-pp: stage 0 has ranks 0 to 3, its replicas 0, 1 and 2, 3. tp-pp-dp: replica 0 has
// ranks 0 to 3, its stages 0, 1 and 2, 3.
TEST_CASE("numbers of ranks by hand, in both orders") {
  const Job stages = job_of(RankOrder::pipeline_last, 2, 2, 2);
  CHECK(stages.data_group(0) == std::vector<int>{0, 2});
  CHECK(stages.data_group(1) == std::vector<int>{4, 6});
  CHECK(stages.tensor_group(1, 1) == std::vector<int>{6, 7});
  const Job replicas = job_of(RankOrder::data_last, 2, 2, 2);
  CHECK(replicas.data_group(0) == std::vector<int>{0, 4});
  CHECK(replicas.data_group(1) == std::vector<int>{2, 6});
  CHECK(replicas.tensor_group(1, 1) == std::vector<int>{6, 7});
  CHECK(replicas.first_rank(1) == 2);
  CHECK(replicas.last_rank(1) == 7);
  CHECK(stages.first_rank(1) == 4);
  CHECK(stages.last_rank(0) == 3);
}

TEST_CASE("each rank has one place, and the neighbours of its run follow from it") {
  for (const RankOrder order : kOrders) {
    const Job job = job_of(order, 2, 3, 4, 2);
    const Strategy& s = job.strategy;
    std::set<int> ranks;
    for (int stage = 0; stage < s.pipeline; ++stage) {
      for (int data = 0; data < s.data; ++data) {
        for (int member = 0; member < s.team(); ++member) {
          const int rank = job.rank_of(stage, data, member);
          ranks.insert(rank);
          // Two replicas of two context ranks are a run of four; tensor ranks have the place of their first one.
          CHECK(job.first_neighbour(rank, 4) == job.rank_of(stage, data / 2 * 2, 0));
          CHECK(job.first_neighbour(rank, 1) == rank - member % s.tensor);
        }
      }
    }
    CHECK(static_cast<std::int64_t>(ranks.size()) == s.ranks());
    CHECK(*ranks.rbegin() == s.ranks() - 1);
  }
}

TEST_CASE("stages next to each other send in a node, and gradients leave it; and the other way round") {
  const auto costs_of = [](RankOrder order) {
    const Lowered lowered(job_of(order, 2, 4, 2));
    const TransferCost sent =
        transfer_cost(lowered.job, lowered.plans, lowered.blocks, {1, 2, 0, lowered.blocks.layer_id(0)});
    return std::pair(lowered.plans.front().costs.data_group.shape.nodes, sent);
  };
  const auto [nodes_of_stages, between_nodes] = costs_of(RankOrder::pipeline_last);
  const auto [nodes_of_replicas, in_node] = costs_of(RankOrder::data_last);
  CHECK(nodes_of_stages == 1);
  CHECK(nodes_of_replicas == 2);
  CHECK(between_nodes.on_network);
  CHECK_FALSE(in_node.on_network);
  CHECK(in_node.seconds < between_nodes.seconds);
}

// Gradients of 152 million parameters a rank, once; activations of 4 MiB, 24 times each way.
TEST_CASE("the faster order is the one that keeps the larger exchange in the nodes") {
  const auto seconds = [](RankOrder order) { return simulate(job_of(order, 2, 4, 2)).result.iteration_time_s; };
  CHECK(seconds(RankOrder::pipeline_last) < seconds(RankOrder::data_last));
  // With few gradients to reduce, and stages of whole nodes.
  const auto without = [](RankOrder order) {
    Job job = job_of(order, 1, 4, 8);
    job.training.adapters = {1, 0, true, false, false, false};
    return simulate(job).result.iteration_time_s;
  };
  CHECK(without(RankOrder::data_last) < without(RankOrder::pipeline_last));
}

TEST_CASE("one stage, or one replica: the order changes nothing") {
  for (const auto& [pipeline, data] : {std::pair(1, 8), std::pair(8, 1)}) {
    CHECK(makespan(job_of(RankOrder::data_last, 2, pipeline, data)) ==
          makespan(job_of(RankOrder::pipeline_last, 2, pipeline, data)));
  }
}

// Replicas of 6 ranks on nodes of 8: stages of the second replica lie on two nodes.
TEST_CASE("replicas that begin at different places in nodes are of different classes") {
  const Job job = job_of(RankOrder::data_last, 2, 3, 4);
  CHECK(replica_classes(job).size() > 1);
  CHECK(replica_classes(job_of(RankOrder::data_last, 2, 4, 4)).size() == 1);
  CHECK(replica_classes(job_of(RankOrder::pipeline_last, 2, 3, 4)).size() == 1);
}

TEST_CASE("folded and unfolded, as passes and as operators: the same time to the picosecond") {
  std::vector<Job> jobs = {job_of(RankOrder::data_last, 2, 3, 4), job_of(RankOrder::data_last, 1, 4, 4),
                           job_of(RankOrder::data_last, 2, 2, 4, 2)};
  jobs[1].strategy.zero = 1;
  jobs[1].strategy.overlap_grad_reduce = true;
  Perturbations slow;
  slow.ranks[5].compute = 1.5;  // stage 1 of replica 1
  jobs.push_back(perturbed_by(job_of(RankOrder::data_last, 1, 4, 4), slow));
  for (const Job& job : jobs) {
    const Picoseconds expected = makespan(job);
    for (const LoweringOptions& options : {LoweringOptions{true, false}, {false, true}, {true, true}}) {
      INFO("unfolded " << options.unfolded << " operators " << options.operators);
      CHECK(makespan(job, options) == expected);
    }
  }
}

TEST_CASE("a slow rank slows the stage and replica that the order gives it") {
  Perturbations slow;
  slow.ranks[5].compute = 1.5;
  for (const RankOrder order : kOrders) {
    const Simulation simulation = simulate(perturbed_by(job_of(order, 1, 4, 4), slow));
    // Rank 5 is stage 1 in both orders of a 4 x 4 job, of replica 1.
    CHECK(simulation.job.rank_of(1, 1, 0) == 5);
    CHECK(simulation.plans[0].costs.data_group.shape.ranks == 4);
  }
}

}  // namespace rank_order_test
