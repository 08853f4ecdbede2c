#include "engine/execute.hpp"

#include "base/error.hpp"
#include "engine/sweep.hpp"
#include "program_family.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace mirfak {

TEST_CASE("execute: nothing takes no time") {
  for (const Executor executor : {Executor::automatic, Executor::sweep, Executor::events}) {
    const Timeline timeline = execute(Program{}, executor);
    CHECK(timeline.makespan == 0);
    CHECK(timeline.start.empty());
    CHECK(timeline.events == 0);
  }
}

// Stream 0: a (3), then c (4). Stream 1: b (2) after a, then d (1) after c.
// a: 0-3, b: 3-5, c: 3-7, d: max(5, 7) = 7-8.
TEST_CASE("execute: a task waits for its stream and for its dependencies") {
  Program program = bare_program(2);
  const TaskId a = program.add_task(0, 0, 3, {});
  program.add_task(1, 0, 2, std::vector{a});
  const TaskId c = program.add_task(0, 0, 4, {});
  program.add_task(1, 0, 1, std::vector{c});
  for (const Executor executor : {Executor::automatic, Executor::sweep, Executor::events}) {
    const Timeline timeline = execute(program, executor);
    CHECK(timeline.start == std::vector<Picoseconds>{0, 3, 3, 7});
    CHECK(timeline.end == std::vector<Picoseconds>{3, 5, 7, 8});
    CHECK(timeline.makespan == 8);
    CHECK(timeline.events == 4);
  }
  Sweep sweep;
  CHECK(sweep.makespan(program) == 8);
  CHECK(sweep.ends() == std::vector<Picoseconds>{3, 5, 7, 8});
}

// 4 stages, forward 3, backward 6, 8 microbatches, free communication: (8 + 4 - 1) (3 + 6) = 99.
TEST_CASE("execute: 1F1B on uniform stages takes (m + p - 1)(f + b)") {
  constexpr std::uint32_t stages = 4;
  constexpr std::uint32_t microbatches = 8;
  Program program = bare_program(stages);
  std::vector<std::vector<TaskId>> forward(stages), backward(stages);
  std::vector<std::uint32_t> position(stages, 0);
  // Position k of stage s: warm-up of (stages - s) forwards, then backward and forward in turn, then backwards.
  const auto is_forward = [&](std::uint32_t stage, std::uint32_t k) {
    const std::uint32_t warm_up = std::min(stages - stage, microbatches);
    return k < warm_up || (k < 2 * microbatches - warm_up && (k - warm_up) % 2 == 1);
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      while (position[stage] < 2 * microbatches) {
        const bool runs_forward = is_forward(stage, position[stage]);
        auto& done = runs_forward ? forward : backward;
        const std::size_t microbatch = done[stage].size();
        std::vector<TaskId> after;
        if (runs_forward ? stage > 0 : stage + 1 < stages) {
          const auto& neighbour = done[runs_forward ? stage - 1 : stage + 1];
          if (neighbour.size() <= microbatch) break;
          after.push_back(neighbour[microbatch]);
        }
        done[stage].push_back(program.add_task(stage, 0, runs_forward ? 3 : 6, after));
        ++position[stage];
        progress = true;
      }
    }
  }
  REQUIRE(program.size() == 2 * stages * microbatches);
  CHECK(execute(program, Executor::sweep).makespan == 99);
  CHECK(execute(program, Executor::events).makespan == 99);
}

TEST_CASE("execute: the sweep refuses programs that share links") {
  Program program = bare_program(1);
  program.links = {{"link", 100}};
  program.add_task(0, add_flow_class(program, {{0, 50}}), 10, {});
  CHECK_THROWS_AS(execute(program, Executor::sweep), Error);
  CHECK(execute(program).makespan == 10);
}

TEST_CASE("timeline hash: changes with any time, and with the task a time belongs to") {
  const Timeline timeline{{0, 0, 3}, {3, 5, 5}, 5, 3};
  Timeline later = timeline;
  later.end[2] = 6;
  Timeline swapped = timeline;
  std::swap(swapped.end[0], swapped.end[1]);
  CHECK(timeline.hash() == Timeline(timeline).hash());
  CHECK(timeline.hash() != later.hash());
  CHECK(timeline.hash() != swapped.hash());
}

// FNV-1a of the 12 bytes of (time 0, task 0), all zero: the offset basis times the prime to the 12th, modulo 2^64.
TEST_CASE("timeline hash: FNV-1a of 64-bit times and 32-bit tasks") {
  std::uint64_t expected = 0xcbf29ce484222325ULL;
  CHECK(Timeline{}.hash() == expected);
  for (int byte = 0; byte < 12; ++byte) expected *= 0x100000001b3ULL;
  CHECK(Timeline{{0}, {0}, 0, 1}.hash() == expected);
}

}  // namespace mirfak
