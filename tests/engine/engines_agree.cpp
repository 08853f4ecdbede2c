#include "engine/execute.hpp"
#include "engine/sweep.hpp"
#include "program_family.hpp"
#include "reference.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

namespace mirfak {

namespace {

bool same(const Timeline& a, const Timeline& b) {
  return a.start == b.start && a.end == b.end && a.makespan == b.makespan && a.events == b.events;
}

void check_all_executors(const Program& program, Sweep& sweep) {
  const Timeline expected = reference_execute(program);
  REQUIRE(same(execute(program, Executor::sweep), expected));
  REQUIRE(same(execute(program, Executor::events), expected));
  REQUIRE(sweep.makespan(program) == expected.makespan);
  REQUIRE(sweep.ends() == expected.end);
}

// Speeds are doubles and ends are rounded, in the engine and in the reference at different instants: each instant can
// part them by a picosecond.
void check_sharing(const Program& program) {
  const Timeline expected = reference_execute(program);
  const Timeline timeline = execute(program);
  const auto tolerance = static_cast<Picoseconds>(program.size());
  for (TaskId task = 0; task < program.size(); ++task) {
    REQUIRE(std::abs(timeline.start[task] - expected.start[task]) <= tolerance);
    REQUIRE(std::abs(timeline.end[task] - expected.end[task]) <= tolerance);
  }
  REQUIRE(std::abs(timeline.makespan - expected.makespan) <= tolerance);
}

}  // namespace

TEST_CASE("engines agree with the reference on all tiny programs") {
  Sweep sweep;
  int programs = 0;
  visit_tiny_programs(4, [&](const Program& program) {
    check_all_executors(program, sweep);
    ++programs;
  });
  CHECK(programs == 1 + 6 + 6 * 12 + 6 * 12 * 24 + 6 * 12 * 24 * 48);
}

TEST_CASE("engines agree with the reference on random programs") {
  std::mt19937_64 random(1);
  Sweep sweep;
  for (int round = 0; round < 1000; ++round) {
    RandomShape shape;
    shape.max_lasting = round % 3 == 0 ? 2 : round % 3 == 1 ? 20 : 1'000'000'000;
    shape.max_streams = 1 + static_cast<std::uint32_t>(round % 12);
    const Program program = random_program(random, shape);
    program.validate();
    check_all_executors(program, sweep);
  }
}

TEST_CASE("sweep and events agree on large random programs") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 20; ++round) {
    RandomShape shape;
    shape.max_tasks = 50'000;
    shape.max_streams = 300;
    shape.max_lasting = round % 2 == 0 ? 3 : 1'000'000;
    const Program program = random_program(random, shape);
    REQUIRE(execute(program, Executor::sweep).hash() == execute(program, Executor::events).hash());
  }
}

TEST_CASE("events agree with the reference on all tiny programs that share links") {
  visit_tiny_sharing_programs(check_sharing);
}

TEST_CASE("events agree with the reference on random programs that share links") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 600; ++round) {
    RandomShape shape;
    shape.links = 1 + static_cast<std::uint32_t>(round % 6);
    shape.max_lasting = round % 2 == 0 ? 1000 : 1'000'000;
    check_sharing(random_program(random, shape));
  }
}

TEST_CASE("links that never saturate change nothing") {
  std::mt19937_64 random(4);
  for (int round = 0; round < 300; ++round) {
    RandomShape shape;
    shape.links = 3;
    Program program = random_program(random, shape);
    for (Link& link : program.links) link.bytes_per_s = 80.0 * static_cast<double>(program.streams.size());
    const Timeline shared = execute(program, Executor::events);
    REQUIRE(same(shared, execute(without_traffic(program), Executor::sweep)));
  }
}

TEST_CASE("the same bits on every run and on many threads at once") {
  std::mt19937_64 random(6);
  for (const std::uint32_t links : {0U, 5U}) {
    RandomShape shape;
    shape.links = links;
    shape.max_tasks = 3000;
    shape.max_streams = 40;
    shape.max_lasting = 100'000;
    const Program program = random_program(random, shape);
    const Timeline once = execute(program, Executor::events);
    std::vector<Timeline> timelines(16);
    std::vector<std::thread> threads;
    for (Timeline& timeline : timelines) {
      threads.emplace_back([&program, &timeline] { timeline = execute(program, Executor::events); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Timeline& timeline : timelines) CHECK(same(timeline, once));
    CHECK(execute(program, Executor::events).hash() == once.hash());
  }
}

}  // namespace mirfak
