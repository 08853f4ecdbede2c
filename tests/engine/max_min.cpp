#include "engine/max_min.hpp"

#include "program_family.hpp"
#include "reference.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace mirfak {

namespace {

using Demands = std::vector<std::pair<LinkId, double>>;

std::vector<double> solve(const std::vector<Demands>& tasks, const std::vector<double>& capacities) {
  return speeds_from_scratch(tasks, capacities);
}

void check_near(const std::vector<double>& actual, const std::vector<double>& expected) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t k = 0; k < actual.size(); ++k) CHECK(actual[k] == doctest::Approx(expected[k]).epsilon(1e-12));
}

}  // namespace

TEST_CASE("max-min: alone on a link that suffices, full speed; on one that does not, its share") {
  CHECK(solve({{{0, 100}}}, {100}) == std::vector<double>{1});
  CHECK(solve({{{0, 400}}}, {100}) == std::vector<double>{0.25});
  CHECK(solve({{}}, {100}) == std::vector<double>{1});
}

TEST_CASE("max-min: equal tasks share a link equally") {
  CHECK(solve({{{0, 100}}, {{0, 100}}}, {100}) == std::vector<double>{0.5, 0.5});
  CHECK(solve({{{0, 50}}, {{0, 50}}}, {100}) == std::vector<double>{1, 1});
}

// Speeds are equal, rates are not: 30 s + 90 s = 100 at s = 5/6.
TEST_CASE("max-min: shares of a link are in proportion to demands") {
  check_near(solve({{{0, 30}}, {{0, 90}}}, {100}), {5.0 / 6, 5.0 / 6});
}

// Link 0 (10) carries x and y of 10 each: it saturates at 10/20 = 0.5. Link 1 (12) carries y (6) and z (9), and would
// at 12/15 = 0.8. So x = y = 0.5; link 1 has 12 - 6 * 0.5 = 9 left for z, which needs 9: z = 1.
TEST_CASE("max-min: what a task held up elsewhere leaves goes to the others") {
  CHECK(solve({{{0, 10}}, {{0, 10}, {1, 6}}, {{1, 9}}}, {10, 12}) == std::vector<double>{0.5, 0.5, 1});
}

// Three links of 12 in a row. The long task (12 on each) meets one short task of 12 on link 0, two on link 1, three on
// link 2. Link 2 saturates first: 12/48 = 1/4 for the long one and its three. Then link 1: (12 - 3)/24 = 3/8 for its
// two. Then link 0: (12 - 3)/12 = 3/4.
TEST_CASE("max-min: links saturate one after the other") {
  const Demands long_task{{0, 12}, {1, 12}, {2, 12}};
  CHECK(solve({long_task, {{0, 12}}, {{1, 12}}, {{1, 12}}, {{2, 12}}, {{2, 12}}, {{2, 12}}}, {12, 12, 12}) ==
        std::vector<double>{0.25, 0.75, 0.375, 0.375, 0.25, 0.25, 0.25});
}

// Both links would saturate at 0.5 when all rise together.
TEST_CASE("max-min: links that saturate at the same level") {
  CHECK(solve({{{0, 10}, {1, 10}}, {{0, 10}}, {{1, 10}}}, {10, 10}) == std::vector<double>{0.5, 0.5, 0.5});
}

TEST_CASE("max-min: a dead link stops its users and nobody else") {
  CHECK(solve({{{0, 10}, {1, 10}}, {{1, 10}}}, {0, 10}) == std::vector<double>{0, 1});
}

TEST_CASE("max-min: a link used twice by a task is charged twice") {
  CHECK(solve({{{0, 10}, {0, 10}}}, {10}) == std::vector<double>{0.5});
}

TEST_CASE("max-min: on random problems the naive solution, and its defining properties") {
  std::mt19937_64 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> capacities(1 + draw(random, 8));
    for (double& capacity : capacities) capacity = draw_bandwidth(random, 100);
    std::vector<Demands> tasks(draw(random, 20));
    for (Demands& demands : tasks) {
      for (LinkId link = 0; link < capacities.size(); ++link) {
        if (draw(random, 3) == 0) demands.emplace_back(link, draw_bandwidth(random, 60));
      }
    }
    const std::vector<double> speeds = speeds_from_scratch(tasks, capacities);
    check_near(speeds, reference_speeds(tasks, capacities));

    std::vector<double> load(capacities.size(), 0);
    for (std::size_t task = 0; task < tasks.size(); ++task) {
      for (const auto& [link, demand] : tasks[task]) load[link] += demand * speeds[task];
    }
    for (std::size_t link = 0; link < load.size(); ++link) CHECK(load[link] <= capacities[link] * (1 + 1e-12));
    // A task below full speed has a saturated link on which nobody is faster.
    for (std::size_t task = 0; task < tasks.size(); ++task) {
      bool held_up = speeds[task] == 1;
      for (const auto& [link, demand] : tasks[task]) {
        double fastest = 0;
        for (std::size_t other = 0; other < tasks.size(); ++other) {
          for (const auto& use : tasks[other]) fastest = use.first == link ? std::max(fastest, speeds[other]) : fastest;
        }
        held_up = held_up || (load[link] >= capacities[link] * (1 - 1e-9) && speeds[task] >= fastest * (1 - 1e-9));
      }
      CHECK(held_up);
    }
  }
}

namespace {

// Activities on one to four of the links, or on all of them, of equal demands (then many levels are equal) or of
// unequal ones.
std::vector<Demands> random_activities(std::mt19937_64& random, std::size_t count, std::uint64_t links, bool equal) {
  std::vector<Demands> out(count);
  for (Demands& demands : out) {
    const auto demand = [&] { return equal ? 30 : 0.7 * draw_bandwidth(random, 60); };
    if (draw(random, 8) == 0) {
      for (LinkId link = 0; link < links; ++link) demands.emplace_back(link, demand());
      continue;
    }
    const std::uint64_t uses = draw(random, 4) > 0 ? 2 : 1 + draw(random, 4);
    for (std::uint64_t k = 0; k < uses; ++k) {
      demands.emplace_back(static_cast<LinkId>(draw(random, links)), demand());
    }
  }
  return out;
}

}  // namespace

TEST_CASE("max-min: the same bits whatever came and went before") {
  constexpr double largest = 4 * 60;
  std::mt19937_64 random(12);
  for (int round = 0; round < 40; ++round) {
    const bool equal = round % 2 == 0;
    std::vector<double> capacities(2 + draw(random, 14));
    for (double& capacity : capacities) capacity = equal ? 100 : 0.3 * draw_bandwidth(random, 400);
    const std::vector<Demands> all = random_activities(random, 8 * capacities.size(), capacities.size(), equal);
    MaxMin network(capacities, largest, all.size());
    std::vector<bool> is_there(all.size(), false);
    for (int step = 0; step < 60; ++step) {
      for (std::uint64_t change = step == 0 ? all.size() : draw(random, 4); change-- > 0;) {
        const auto slot = static_cast<std::uint32_t>(draw(random, all.size()));
        is_there[slot] ? network.remove(slot) : network.add(slot, uses_of(all[slot]));
        is_there[slot] = !is_there[slot];
      }
      network.settle();
      std::vector<Demands> running;
      std::vector<double> speeds;
      for (std::uint32_t slot = 0; slot < all.size(); ++slot) {
        if (is_there[slot]) running.push_back(all[slot]);
        if (is_there[slot]) speeds.push_back(network.speed(slot));
      }
      REQUIRE(speeds == speeds_from_scratch(running, capacities, largest));
      if (step % 20 == 0) check_near(speeds, reference_speeds(running, capacities));
    }
  }
}

// Their demands, each of 2^51 units, add up to more than 2^63.
TEST_CASE("max-min: thousands of activities that could each fill their link") {
  const std::vector<double> speeds = solve(std::vector<Demands>(5000, {{0, 1}}), {1});
  CHECK(speeds == std::vector<double>(5000, speeds.front()));
  CHECK(speeds.front() == doctest::Approx(1.0 / 5000).epsilon(1e-12));

  std::vector<Demands> tasks(5000, {{0, 1}, {1, 1}});
  tasks.resize(5002, {{1, 1}});
  const std::vector<double> shared = solve(tasks, {1, 3});
  check_near({shared.front(), shared.back()}, {1.0 / 5000, 1.0});
}

}  // namespace mirfak
