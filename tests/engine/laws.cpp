#include "engine/execute.hpp"
#include "program_family.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace mirfak {

namespace {

// Checks that the tasks of each stream follow each other without overlap; returns busy + idle time per stream.
std::vector<Picoseconds> busy_and_idle(const Program& program, const Timeline& timeline) {
  std::vector<Picoseconds> busy(program.streams.size(), 0);
  std::vector<Picoseconds> idle(program.streams.size(), 0);
  std::vector<Picoseconds> free_at(program.streams.size(), 0);
  for (TaskId task = 0; task < program.size(); ++task) {
    const StreamId stream = program.stream[task];
    REQUIRE(timeline.start[task] >= free_at[stream]);
    REQUIRE(timeline.end[task] - timeline.start[task] >= program.duration[task]);
    idle[stream] += timeline.start[task] - free_at[stream];
    busy[stream] += timeline.end[task] - timeline.start[task];
    free_at[stream] = timeline.end[task];
  }
  std::vector<Picoseconds> sum(program.streams.size());
  for (StreamId stream = 0; stream < sum.size(); ++stream) {
    sum[stream] = busy[stream] + idle[stream] + timeline.makespan - free_at[stream];
  }
  return sum;
}

}  // namespace

TEST_CASE("conservation: on every stream busy and idle time make the makespan") {
  std::mt19937_64 random(21);
  for (int round = 0; round < 300; ++round) {
    RandomShape shape;
    shape.links = static_cast<std::uint32_t>(round % 4);
    shape.max_lasting = 10'000;
    const Program program = random_program(random, shape);
    const Timeline timeline = execute(program);
    CHECK(busy_and_idle(program, timeline) == std::vector<Picoseconds>(program.streams.size(), timeline.makespan));
    for (TaskId task = 0; task < program.size(); ++task) {
      for (const TaskId before : program.dependencies_of(task)) REQUIRE(timeline.start[task] >= timeline.end[before]);
    }
  }
}

// No delay without a cause: a start is 0, or the end of what it waited for last.
TEST_CASE("work conservation: a task starts as soon as it can") {
  std::mt19937_64 random(22);
  for (int round = 0; round < 300; ++round) {
    RandomShape shape;
    shape.links = static_cast<std::uint32_t>(round % 4);
    const Program program = random_program(random, shape);
    const Timeline timeline = execute(program);
    std::vector<Picoseconds> free_at(program.streams.size(), 0);
    for (TaskId task = 0; task < program.size(); ++task) {
      Picoseconds ready = free_at[program.stream[task]];
      for (const TaskId before : program.dependencies_of(task)) ready = std::max(ready, timeline.end[before]);
      REQUIRE(timeline.start[task] == ready);
      free_at[program.stream[task]] = timeline.end[task];
    }
  }
}

TEST_CASE("monotonicity: without links a shorter task never makes any task end later") {
  std::mt19937_64 random(23);
  for (int round = 0; round < 300; ++round) {
    Program program = random_program(random, {});
    const Timeline before = execute(program);
    const auto shortened = static_cast<TaskId>(draw(random, program.size()));
    program.duration[shortened] /= 2;
    const Timeline after = execute(program, round % 2 == 0 ? Executor::sweep : Executor::events);
    CHECK(after.makespan <= before.makespan);
    for (TaskId task = 0; task < program.size(); ++task) REQUIRE(after.end[task] <= before.end[task]);
  }
}

TEST_CASE("monotonicity: without links one dependency fewer never makes any task end later") {
  std::mt19937_64 random(24);
  for (int round = 0; round < 300; ++round) {
    Program program = random_program(random, {});
    if (program.dependencies.empty()) continue;
    const Timeline before = execute(program);
    const auto dropped = draw(random, program.dependencies.size());
    program.dependencies.erase(program.dependencies.begin() + static_cast<std::ptrdiff_t>(dropped));
    for (TaskId& begin : program.dependency_begin) begin -= begin > dropped;
    const Timeline after = execute(program, round % 2 == 0 ? Executor::sweep : Executor::events);
    for (TaskId task = 0; task < program.size(); ++task) REQUIRE(after.end[task] <= before.end[task]);
  }
}

TEST_CASE("scaling: all durations times k make all times times k") {
  std::mt19937_64 random(25);
  for (int round = 0; round < 100; ++round) {
    Program program = random_program(random, {});
    const Timeline before = execute(program);
    for (Picoseconds& lasting : program.duration) lasting *= 1'000'003;
    const Timeline after = execute(program, Executor::events);
    for (TaskId task = 0; task < program.size(); ++task) REQUIRE(after.end[task] == before.end[task] * 1'000'003);
  }
}

TEST_CASE("invariance: the numbers of streams do not matter") {
  std::mt19937_64 random(26);
  for (int round = 0; round < 100; ++round) {
    RandomShape shape;
    shape.max_lasting = 1'000'000;
    Program program = random_program(random, shape);
    const Timeline before = execute(program, Executor::events);
    for (StreamId& stream : program.stream) stream = static_cast<StreamId>(program.streams.size()) - 1 - stream;
    CHECK(execute(program, Executor::events).hash() == before.hash());
  }
}

}  // namespace mirfak
