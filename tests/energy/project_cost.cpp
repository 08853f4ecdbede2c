#include "energy/project_cost.hpp"

#include "projects.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using mirfak::test::curve;

namespace {

constexpr Picoseconds kSecond = 1'000'000'000'000;
constexpr Microwatts kWatt = 1'000'000;

// Three seconds, or two for ten joules more, or one for twenty more on top.
CostCurve three_two_one() { return curve({3 * kSecond, 2 * kSecond, kSecond}, {10 * kWatt, 20 * kWatt}); }

ActivityNetwork network(EventId events, std::vector<ActivityNetwork::Arc> arcs) {
  return {events, std::move(arcs), {curve({0}, {}), three_two_one()}};
}

}  // namespace

TEST_CASE("one activity: its own curve") {
  const ActivityNetwork one = network(2, {{0, 1, 1, 0}});
  ProjectCost project(one);
  CHECK(project.makespan() == 3 * kSecond);
  CHECK(project.cost_j() == 0);
  project.shorten_to(2 * kSecond + kSecond / 2);
  CHECK(project.cost_j() == doctest::Approx(5));
  project.shorten_to(kSecond + kSecond / 2);
  CHECK(project.cost_j() == doctest::Approx(20));
  CHECK_FALSE(project.is_shortest());
  project.shorten_to(0);
  CHECK(project.is_shortest());
  CHECK(project.makespan() == kSecond);
  CHECK(project.cost_j() == doctest::Approx(30));
}

TEST_CASE("in a row the cheaper second goes first, wherever it is") {
  const ActivityNetwork row = network(4, {{0, 1, 1, 0}, {1, 2, 1, 0}, {2, 3, 0, kSecond}});
  ProjectCost project(row);
  CHECK(project.makespan() == 7 * kSecond);
  project.shorten_to(5 * kSecond);
  CHECK(project.cost_j() == doctest::Approx(10 + 10));
  project.shorten_to(0);
  CHECK(project.makespan() == 3 * kSecond);
  CHECK(project.cost_j() == doctest::Approx(2 * 30));
  REQUIRE(project.corners().size() == 3);
  CHECK(project.corners()[0].price == 10 * kWatt);
  CHECK(project.corners()[1].price == 20 * kWatt);
}

TEST_CASE("side by side both are shortened, and one alone as long as the other has time") {
  const ActivityNetwork even = network(2, {{0, 1, 1, 0}, {0, 1, 1, 0}});
  ProjectCost both(even);
  both.shorten_to(2 * kSecond);
  CHECK(both.cost_j() == doctest::Approx(20));

  const ActivityNetwork uneven = network(2, {{0, 1, 1, kSecond}, {0, 1, 1, 0}});
  ProjectCost one(uneven);
  one.shorten_to(3 * kSecond);
  CHECK(one.cost_j() == doctest::Approx(10));
  one.shorten_to(2 * kSecond);
  CHECK(one.cost_j() == doctest::Approx(10 + 20 + 10));
}

//        a 2..1       b 3
//     0 -------> 1 ---------> 3      a and d: a second less for 30 J
//      \         | bridge   /        bridge: 2 s, each second less for 8 J
//       \        v 2..0    /
//        +-----> 2 --------+
//          c 3       d 2..1
TEST_CASE("what was paid for is given back where a cut crosses it backwards") {
  ActivityNetwork bridge;
  bridge.events = 4;
  bridge.curves = {curve({0}, {}), curve({2 * kSecond, kSecond}, {30 * kWatt}), curve({2 * kSecond, 0}, {8 * kWatt}),
                   curve({3 * kSecond}, {})};
  bridge.arcs = {{0, 1, 1, 0}, {2, 3, 1, 0}, {1, 2, 2, 0}, {0, 2, 3, 0}, {1, 3, 3, 0}};
  ProjectCost project(bridge);
  CHECK(project.makespan() == 6 * kSecond);
  // The rows take 2 + 3 each. Down to 5 only a-bridge-d is critical, and the bridge is cheapest.
  project.shorten_to(5 * kSecond);
  CHECK(project.cost_j() == doctest::Approx(8));
  // From 5 to 4 both rows are critical too: a and d are shortened together, the bridge, backwards, is slowed down:
  // 30 + 30 - 8 W.
  project.shorten_to(4 * kSecond);
  CHECK(project.cost_j() == doctest::Approx(8 + 60 - 8));
  CHECK(project.event_times() == std::vector<Picoseconds>{0, kSecond, 3 * kSecond, 4 * kSecond});
  project.shorten_to(0);
  CHECK(project.makespan() == 4 * kSecond);
}

TEST_CASE("what cannot be shortened has one corner") {
  const ActivityNetwork fixed = network(2, {{0, 1, 0, 5 * kSecond}});
  ProjectCost project(fixed);
  project.shorten_to(0);
  CHECK(project.makespan() == 5 * kSecond);
  CHECK(project.cost_j() == 0);
  CHECK(project.corners().size() == 1);
}
