#include "engine/execute.hpp"
#include "program_family.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <random>
#include <vector>

namespace mirfak {

namespace {

// One link and a flow on each of several streams, all starting at 0.
Program flows_on_one_link(std::mt19937_64& random, double capacity) {
  Program program = bare_program(1 + static_cast<std::uint32_t>(draw(random, 10)));
  program.links = {{"link", capacity}};
  for (StreamId stream = 0; stream < program.streams.size(); ++stream) {
    const ClassId flow = add_flow_class(program, {{0, draw_bandwidth(random, 100)}});
    program.add_task(stream, flow, static_cast<Picoseconds>(1 + draw(random, 1'000'000)), {});
  }
  return program;
}

}  // namespace

// A link cannot move more than its capacity: all bytes (demand x duration) take at least bytes / capacity; and while
// it is short it moves no less, so if it is short all the time, exactly that.
TEST_CASE("one link: all is moved no faster than the link allows, and no slower while it is short") {
  std::mt19937_64 random(31);
  for (int round = 0; round < 500; ++round) {
    const Program program = flows_on_one_link(random, 150);
    const Timeline timeline = execute(program);
    double bytes = 0;
    for (TaskId task = 0; task < program.size(); ++task) {
      bytes += program.traffic_of(task).front().bytes_per_s * to_seconds(program.duration[task]);
    }
    CHECK(to_seconds(timeline.makespan) >= bytes / 150 - 1e-10);
  }
  for (int round = 0; round < 100; ++round) {
    const Program program = flows_on_one_link(random, 1);  // every flow alone saturates it
    const Timeline timeline = execute(program);
    double bytes = 0;
    for (TaskId task = 0; task < program.size(); ++task) {
      bytes += program.traffic_of(task).front().bytes_per_s * to_seconds(program.duration[task]);
    }
    CHECK(to_seconds(timeline.makespan) == doctest::Approx(bytes).epsilon(1e-6));
  }
}

TEST_CASE("one link: more capacity never makes any flow end later") {
  std::mt19937_64 random(32);
  for (int round = 0; round < 500; ++round) {
    Program program = flows_on_one_link(random, 100);
    const Timeline before = execute(program);
    program.links[0].bytes_per_s = 100 + draw_bandwidth(random, 400);
    const Timeline after = execute(program);
    // Each change of speed rounds to a picosecond.
    const auto rounding = static_cast<Picoseconds>(program.size());
    for (TaskId task = 0; task < program.size(); ++task) REQUIRE(after.end[task] <= before.end[task] + rounding);
  }
}

// n equal flows of duration d on a link that carries one: processor sharing, all end at n d.
TEST_CASE("one link: n equal flows take n times as long") {
  for (StreamId flows = 1; flows <= 64; flows *= 2) {
    Program program = bare_program(flows);
    program.links = {{"link", 100}};
    const ClassId flow = add_flow_class(program, {{0, 100}});
    for (StreamId stream = 0; stream < flows; ++stream) program.add_task(stream, flow, 12'345, {});
    CHECK(execute(program).end == std::vector<Picoseconds>(flows, 12'345 * flows));
  }
}

TEST_CASE("sharing is scale free: links and demands in other units give the same times") {
  std::mt19937_64 random(33);
  for (int round = 0; round < 100; ++round) {
    RandomShape shape;
    shape.links = 4;
    shape.max_lasting = 100'000;
    Program program = random_program(random, shape);
    const std::uint64_t before = execute(program).hash();
    // A power of two: not even rounding differs.
    for (Link& link : program.links) link.bytes_per_s *= 0x1p30;
    for (LinkUse& use : program.link_uses) use.bytes_per_s *= 0x1p30;
    CHECK(execute(program).hash() == before);
  }
}

TEST_CASE("sharing never makes a task faster than it is alone") {
  std::mt19937_64 random(34);
  for (int round = 0; round < 200; ++round) {
    RandomShape shape;
    shape.links = 1 + static_cast<std::uint32_t>(round % 5);
    shape.max_lasting = 100'000;
    const Program program = random_program(random, shape);
    const Timeline shared = execute(program);
    const Timeline alone = execute(without_traffic(program));
    CHECK(shared.makespan >= alone.makespan);
    for (TaskId task = 0; task < program.size(); ++task) REQUIRE(shared.end[task] >= alone.end[task]);
  }
}

}  // namespace mirfak
