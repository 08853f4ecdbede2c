#include "executor/collective_groups.hpp"

#include "executor/collective_plans.hpp"
#include "executor/submission_order.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace mirfak::measure;

TEST_CASE("on one machine: 2, 4, ... and all ranks, and one pair") {
  const std::vector<int> machine_of(6, 0);
  const std::vector<TimedGroup> expected = {{{0, 1}, 1}, {{0, 1, 2, 3}, 1}, {{0, 1, 2, 3, 4, 5}, 1}};
  CHECK(collective_groups(machine_of) == expected);
  CHECK(transfer_pairs(machine_of) == std::vector<TimedGroup>{{{0, 1}, 1}});
}

TEST_CASE("on several machines: also one rank of each, all ranks, and a pair between two") {
  // Ranks dealt out in turns, and one machine with fewer.
  const std::vector<int> machine_of = {0, 1, 0, 1, 0, 5};
  const std::vector<TimedGroup> expected = {{{0, 2}, 1}, {{0, 2, 4}, 1}, {{0, 1, 5}, 3}, {{0, 1, 2, 3, 4, 5}, 3}};
  CHECK(collective_groups(machine_of) == expected);
  const std::vector<TimedGroup> pairs = {{{0, 2}, 1}, {{0, 1}, 2}};
  CHECK(transfer_pairs(machine_of) == pairs);
}

TEST_CASE("one rank a machine: each group once") {
  const std::vector<int> machine_of = {3, 4};
  CHECK(collective_groups(machine_of) == std::vector<TimedGroup>{{{0, 1}, 2}});
  CHECK(transfer_pairs(machine_of) == std::vector<TimedGroup>{{{0, 1}, 2}});
  CHECK(collective_groups(std::vector<int>{0}).empty());
  CHECK(transfer_pairs(std::vector<int>{0}).empty());
}

TEST_CASE("sizes fall into equal pieces of whole words") {
  for (const int ranks : {2, 3, 6, 8, 24, 200}) {
    for (const double bytes : {1024.0, 5000.0, 1e6, 1e9}) {
      const double whole = whole_pieces(bytes, ranks);
      CHECK(std::fmod(whole, 16.0 * ranks) == 0);
      CHECK(whole >= 16.0 * ranks);
      if (whole > 16.0 * ranks) CHECK(whole <= bytes);
      CHECK(whole > bytes - 16.0 * ranks);
    }
  }
}

TEST_CASE("ranks outside of a group have nothing to do") {
  const std::vector<double> sizes = {1024};
  const std::vector<int> group = {1, 3};
  const CollectivePlans collectives = collective_plans(mirfak::CollectiveKind::all_reduce, group, 4, sizes, 2);
  REQUIRE(collectives.plans.size() == 4);
  CHECK(collectives.groups.groups.front().ranks == group);
  for (const RankPlan& plan : collectives.plans) {
    CHECK(plan.tasks.size() == (plan.rank % 2 == 1 ? 2 : 0));
    CHECK(plan.queues.size() == 1);
  }
  CHECK(submission_order(collectives.groups, collectives.plans).size() == 2);

  const CollectivePlans sends = transfer_plans(group, 4, sizes, 1);
  const TransferLane lane{1, 3, true};
  CHECK(lane_of(sends.plans[1], sends.plans[1].tasks.front()) == lane);
  CHECK(lane_of(sends.plans[3], sends.plans[3].tasks.front()) == lane);
  CHECK(sends.plans[0].tasks.empty());
}
