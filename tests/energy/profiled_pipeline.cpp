#include "energy/profiled_pipeline.hpp"

#include "base/error.hpp"
#include "energy/clock_plan.hpp"
#include "profiles.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::test;

namespace {

double makespan_s(const ClockedProgram& clocked) {
  return to_seconds(execute_clocks(clocked, highest_clocks(clocked)).makespan);
}

}  // namespace

TEST_CASE("at the highest clock a pipeline of equal stages takes what the schedules' formulas say") {
  const StageProfile even = simple_profile({0.01, 0.01, 0.01, 0.01});
  const double pass = 0.03;  // forward and backward
  const int microbatches = 8;
  CHECK(makespan_s(pipeline(even, microbatches)) == doctest::Approx((microbatches + 3) * pass).epsilon(1e-12));
  CHECK(makespan_s(pipeline(even, microbatches, schedule_named("gpipe"))) ==
        doctest::Approx((microbatches + 3) * pass).epsilon(1e-12));
  CHECK(makespan_s(pipeline(even, microbatches, schedule_named("interleaved-1f1b"), 2)) ==
        doctest::Approx((microbatches + 3 / 2.0) * pass).epsilon(1e-12));
}

TEST_CASE("chunks may have rows of their own") {
  const StageProfile by_stage = simple_profile({0.01, 0.01});
  const StageProfile by_chunk = simple_profile({0.005, 0.005, 0.005, 0.005});
  const ClockedProgram one = profiled_pipeline(by_stage, {2, 2, 4, 2}, schedule_named("interleaved-1f1b"), 50);
  const ClockedProgram other = profiled_pipeline(by_chunk, {2, 2, 4, 2}, schedule_named("interleaved-1f1b"), 50);
  CHECK(makespan_s(one) == doctest::Approx(makespan_s(other)).epsilon(1e-12));
}

TEST_CASE("energy at the highest clock: what the passes took, and waiting for the rest") {
  const ClockedProgram clocked = pipeline(simple_profile({0.01, 0.01}), 4);
  const ExecutedClocks executed = execute_clocks(clocked, highest_clocks(clocked));
  const double busy_s = 2 * 4 * 0.03;
  const double idle_s = 2 * to_seconds(executed.makespan) - busy_s;
  CHECK(executed.energy_j == doctest::Approx(400 * busy_s + 50 * idle_s).epsilon(1e-12));
}

TEST_CASE("a profile of another number of stages is refused") {
  const StageProfile three = simple_profile({0.01, 0.01, 0.01});
  CHECK_THROWS_AS(profiled_pipeline(three, {2, 1, 4, 2}, schedule_named("1f1b"), 0), Error);
}
