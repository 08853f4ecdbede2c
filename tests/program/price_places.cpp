// Stages share prices only where their groups lie alike, in every way that a price can see.

#include "job_fixture.hpp"

#include "program/body_cache.hpp"
#include "program/stage_plan.hpp"

#include <doctest/doctest.h>

#include <type_traits>
#include <utility>

using namespace mirfak;
using namespace mirfak::test;

namespace {

// 9 nodes of which 5 GPUs are used: the teams of 9 ranks of stages 0 to 4 lie on them as 5 4, 1 5 3, 2 5 2, 3 5 1, 4 5.
// Ranks of a domain share its ports, and the domain with the fewest of them is the slowest, so a collective has 4, 1,
// 2, 1 and 4 shares of a port.
Job straddling_job() {
  Strategy strategy;
  strategy.tensor = 9;
  strategy.pipeline = 5;
  Job job = small_job(5, 9, strategy, 8);
  job.model.heads = job.model.kv_heads = 9;
  job.model.hidden = 576;
  job.model.ffn = 2304;
  NodeAllotment nodes = job.cluster.groups()[0];
  nodes.hardware.spec.gpus = nodes.hardware.spec.scale_up_domain = 5;
  job.cluster = Cluster({nodes}, job.cluster.fabric());
  return job;
}

}  // namespace

TEST_CASE("teams that straddle nodes differently have prices of their own") {
  const Job job = straddling_job();
  const ShardedBlocks blocks = shard_blocks(job);
  const std::vector<StagePlan> plans = plan_stages(job, blocks);
  const int fewest[] = {4, 1, 2, 1, 4};
  std::vector<Picoseconds> forward;
  for (const StagePlan& plan : plans) {
    CHECK(plan.costs.tensor_group.shape.fewest_per_domain == fewest[plan.stage]);
    // The kernels of the stage cost what its own groups cost, not those of the stage that was priced first.
    const BlockBodies own = price_block(job, blocks.layer(), plan.costs);
    const BlockBodies& shared = plan.bodies_of(blocks.layer_id(0));
    CHECK(shared.folded_forward.device == own.folded_forward.device);
    forward.push_back(shared.folded_forward.device);
  }
  CHECK(forward[1] == forward[3]);
  CHECK(forward[2] < forward[1]);
  CHECK(plans[1].bodies == plans[3].bodies);
}

TEST_CASE("a place is told apart by every part of it") {
  const Job job = straddling_job();
  const std::vector<StagePlan> plans = plan_stages(job, shard_blocks(job));
  const PricePlace place(plans[1].costs, 1);
  CHECK(place == PricePlace(plans[3].costs, 1));
  CHECK(place != PricePlace(plans[2].costs, 1));
  CHECK(place != PricePlace(plans[1].costs, 0.9));
  PricePlace other = place;
  other.expert.crosses_leaves = !other.expert.crosses_leaves;
  CHECK(place != other);
  other = place;
  other.hardware.ports += 1;
  CHECK(place != other);
}

static_assert(std::is_nothrow_move_constructible_v<Simulation> && std::is_move_assignable_v<Simulation>);
static_assert(std::is_copy_constructible_v<Simulation> && std::is_copy_assignable_v<Simulation>);
static_assert(std::is_nothrow_move_constructible_v<IterationResult> && std::is_copy_assignable_v<IterationResult>);

TEST_CASE("a simulation is a value: one that was moved says what it said, one that is assigned is the other") {
  Strategy strategy;
  strategy.tensor = strategy.pipeline = 2;
  strategy.data = 4;
  Simulation first = simulate(small_job(4, 2, strategy, 16));
  strategy.zero = 1;
  const Simulation second = simulate(small_job(4, 2, strategy, 32));
  const std::uint64_t hash = first.timeline.hash();
  const double joules = first.result.energy_j;

  std::vector<Simulation> kept;
  kept.push_back(std::move(first));
  kept.push_back(second);
  kept.push_back(kept.front());  // moves the others to larger storage
  for (const std::size_t place : {0, 2}) {
    // Executed again from the parts that it holds, hardware included.
    Simulation& moved = kept[place];
    const Timeline again = execute(lower(moved.job, moved.blocks, moved.plans));
    CHECK(again.hash() == hash);
    set_timeline(moved, again);
    CHECK(moved.result.energy_j == joules);
    CHECK(moved.plans.front().costs.hardware == &moved.job.cluster.groups().front());
  }
  kept[0] = second;
  CHECK(kept[0].result.energy_j == second.result.energy_j);
  CHECK(kept[0].job.strategy.zero == 1);
}
