// Random projects: the network simplex against every plan there is, against minimum cost flows, and against itself.

#include "energy/project_cost.hpp"
#include "projects.hpp"
#include "reference.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace mirfak;
using namespace mirfak::test;

namespace {

// The costs of projects, in microwatts times picoseconds.
std::int64_t units(double joules) { return std::llround(joules * 1e18); }

std::int64_t cost_of_plan(const ActivityNetwork& network, const std::vector<Picoseconds>& times) {
  std::int64_t cost = 0;
  for (const auto& arc : network.arcs) {
    const Picoseconds span = times[arc.head] - times[arc.tail] - arc.offset;
    CHECK(span >= network.curves[arc.curve].durations.back());
    cost += cost_of(network.curves[arc.curve], span);
  }
  return cost;
}

}  // namespace

TEST_CASE("no plan of a small project costs less") {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const ActivityNetwork network = random_project({5, 5, 3, 4, 4, 6}, random);
    ProjectCost project(network);
    for (Picoseconds deadline = project.makespan(); deadline >= 0; --deadline) {
      project.shorten_to(deadline);
      const auto least = cheapest_of_all(network, deadline);
      REQUIRE(least.has_value() == (project.makespan() <= deadline));
      if (!least) break;
      REQUIRE(units(project.cost_j()) == *least);
    }
  }
}

TEST_CASE("the curve touches the lines that minimum cost flows give, corner by corner") {
  std::mt19937 random(2);
  for (int i = 0; i < 60; ++i) {
    const ActivityNetwork network = random_project({30, 50, 8, 6, 50, 40}, random);
    ProjectCost project(network);
    project.shorten_to(0);
    Microwatts before = 0;
    for (const ProjectCost::Corner& corner : project.corners()) {
      for (const Microwatts price : {before, corner.price}) {
        REQUIRE(units(corner.cost_j) + price * corner.makespan == longest_flow(network, price));
      }
      before = corner.price;
    }
  }
}

TEST_CASE("the curve is falling and convex, and its plans cost what it says") {
  std::mt19937 random(3);
  for (int i = 0; i < 100; ++i) {
    const ActivityNetwork network = random_project({200, 300, 10, 12, 1000, 1000}, random);
    ProjectCost project(network);
    const Picoseconds cheapest = project.makespan();
    project.shorten_to(0);
    const auto corners = project.corners();
    for (std::size_t at = 1; at < corners.size(); ++at) {
      REQUIRE(corners[at].makespan < corners[at - 1].makespan);
      REQUIRE(corners[at].cost_j > corners[at - 1].cost_j);
      if (at + 1 < corners.size()) REQUIRE(corners[at].price > corners[at - 1].price);
    }
    CHECK(corners.front().makespan == cheapest);
    REQUIRE(cost_of_plan(network, project.event_times()) == units(project.cost_j()));
  }
}

TEST_CASE("stopping on the way changes nothing") {
  std::mt19937 random(4);
  for (int i = 0; i < 40; ++i) {
    const ActivityNetwork network = random_project({100, 150, 6, 8, 300, 100}, random);
    ProjectCost whole(network);
    const Picoseconds cheapest = whole.makespan();
    whole.shorten_to(0);
    ProjectCost stopped(network);
    for (int stop = 1; stop < 10; ++stop) {
      const Picoseconds deadline = cheapest - (cheapest - whole.makespan()) * stop / 10;
      stopped.shorten_to(deadline);
      REQUIRE(stopped.makespan() == deadline);
      REQUIRE(stopped.event_times().back() == deadline);
      REQUIRE(cost_of_plan(network, stopped.event_times()) == units(stopped.cost_j()));
    }
    stopped.shorten_to(0);
    CHECK(units(stopped.cost_j()) == units(whole.cost_j()));
    CHECK(stopped.corners().size() == whole.corners().size());
  }
}

TEST_CASE("a price to stop at: the next second costs that or more, the last one less") {
  std::mt19937 random(5);
  for (int i = 0; i < 100; ++i) {
    const ActivityNetwork network = random_project({60, 90, 6, 8, 300, 100}, random);
    const Microwatts limit = std::uniform_int_distribution<Microwatts>(1, 300)(random);
    ProjectCost project(network);
    project.shorten_to(0, limit);
    const auto corners = project.corners();
    if (!project.is_shortest()) CHECK(corners.back().price >= limit);
    if (corners.size() > 1) CHECK(corners[corners.size() - 2].price < limit);
  }
}
