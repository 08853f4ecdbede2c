// Laws of any replay, and the time of a trace of one microbatch on two stages of two chunks, by hand.

#include "replay/straggler_analysis.hpp"
#include "small_trace.hpp"

#include "engine/execute.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::test;

namespace {

OperationSet stage(int number) {
  OperationSet out;
  out.stage = number;
  return out;
}

}  // namespace

TEST_CASE("a step without gaps takes as long as it took, and half of a stage's passes at twice the speed") {
  const Replay replay = small_replay();
  REQUIRE(replay.steps() == 1);
  CHECK(replay.measured_s(0) == doctest::Approx(13.5));
  CHECK(replay.mean_time_s({}) == doctest::Approx(13.5));
  // The second stage: two passes of 1 s, two of 2 s.
  CHECK(replay.mean_time_s({{}, {}, {{stage(1), 2}}}) == doctest::Approx(10.5));
  CHECK(replay.mean_time_s({{}, {}, {{OperationSet{}, 2}}}) == doctest::Approx(7.5));
  OperationSet transfers;
  transfers.type = "forward-pp-comm";
  CHECK(replay.mean_time_s({{}, {}, {{transfers, 5}}}) == doctest::Approx(13.5 - 3 * 0.2));
  transfers.type = "forward-send";  // the receive takes as long as before
  CHECK(replay.mean_time_s({{}, {}, {{transfers, 5}}}) == doctest::Approx(13.5));
}

TEST_CASE("a factor of 1 and questions of nothing change no bit; a faster part never takes longer") {
  const Replay replay = small_replay(3, 0.7);
  const std::vector<double> base = replay.times_s({});
  CHECK(replay.times_s({{}, {}, {{OperationSet{}, 1}}}) == base);
  CHECK(replay.times_s({{OperationSet{}}, {OperationSet{}}, {}}) == base);
  double before = base.front();
  for (const double speed : {1.1, 1.5, 2.0, 10.0}) {
    const double now = replay.mean_time_s({{}, {}, {{stage(0), speed}}});
    CHECK(now <= before);
    before = now;
  }
}

TEST_CASE("the straggler is found, and without it the slowdown is gone") {
  const Replay replay = small_replay(3, 0.7);
  const StragglerAnalysis found = analyse_stragglers(replay, WhatIf{{stage(1)}, {}, {}});
  CHECK(found.mean_replayed_s == doctest::Approx(14.2));
  // All forward passes take their mean: twelve, together 12.7 s.
  CHECK(found.mean_without_stragglers_s == doctest::Approx(13.5 + 4 * 0.7 / 12));
  REQUIRE(found.workers.size() == 6);
  CHECK(found.workers.front().of.data == 2);
  CHECK(found.workers.front().of.stage == 1);
  CHECK(found.workers.front().ranks == std::vector<int>{5});
  CHECK(found.counted_workers == 1);
  CHECK(found.stages[1].slowdown > found.stages[0].slowdown);
  CHECK(*found.mean_what_if_s == doctest::Approx(13.5 + 2 * 0.7 / 12));
  CHECK(found.last_stage.without_s == *found.mean_what_if_s);
}

TEST_CASE("without stragglers there is no slowdown whose share could be named") {
  const StragglerAnalysis found = analyse_stragglers(small_replay(2), std::nullopt);
  CHECK(found.slowdown == 1);
  CHECK(!removed_share(found.last_stage, found.mean_replayed_s, found.mean_without_stragglers_s));
}

TEST_CASE("a replayed step is a valid program, which both executors run alike") {
  const Replay replay = small_replay(2, 0.3);
  const Program program = replay.program(0, {});
  program.validate();
  const Timeline swept = execute(program, Executor::sweep);
  CHECK(swept.hash() == execute(program, Executor::events).hash());
  CHECK(to_seconds(swept.makespan) == replay.mean_time_s({}));
}
