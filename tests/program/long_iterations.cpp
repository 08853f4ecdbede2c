// Iterations of very many equal microbatches follow from shorter ones, to the picosecond.

#include "base/error.hpp"
#include "job_fixture.hpp"
#include "simulation/iteration.hpp"
#include "simulation/long_iteration.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

namespace long_iterations_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

Job job_of(int tensor, int pipeline, std::int64_t microbatches) {
  return small_job(pipeline, tensor * pipeline / 8, sized(tensor, 1, pipeline), microbatches);
}

std::int64_t picoseconds(const Simulation& simulation) {
  return std::llround(simulation.result.iteration_time_s * 1e12);
}

}  // namespace

TEST_CASE("twice as many microbatches take twice as much longer, executed whole or in part") {
  // 4 stages: up to 2^17 microbatches are executed whole.
  const Simulation quarter = simulate(job_of(2, 4, 32'768));
  const Simulation half = simulate(job_of(2, 4, 65'536));
  const Simulation whole = simulate(job_of(2, 4, 131'072));
  const Simulation part = simulate(job_of(2, 4, 262'144));
  CHECK_FALSE(is_executed_in_part(whole));
  REQUIRE(is_executed_in_part(part));
  CHECK(picoseconds(whole) - picoseconds(half) == 2 * (picoseconds(half) - picoseconds(quarter)));
  CHECK(picoseconds(part) - picoseconds(whole) == 2 * (picoseconds(whole) - picoseconds(half)));
  const auto grows = [&](const auto& of) {
    CHECK(of(part) - of(whole) == doctest::Approx(2 * (of(whole) - of(half))).epsilon(1e-9));
  };
  grows([](const Simulation& of) { return of.result.energy_j; });
  grows([](const Simulation& of) { return of.result.model_flop; });
  grows([](const Simulation& of) { return static_cast<double>(of.result.events); });
  for (std::size_t activity = 0; activity < kActivities; ++activity) {
    grows([activity](const Simulation& of) { return of.result.activity_s[activity]; });
  }
  for (std::size_t stage = 0; stage < 4; ++stage) {
    CHECK(part.result.stages[stage].memory.peak.total() == whole.result.stages[stage].memory.peak.total());
    CHECK(part.plans[stage].order.size() == 2 * 262'144);
  }
  CHECK_NOTHROW(require_whole(whole, "a timeline"));
  CHECK_THROWS_AS(require_whole(part, "a timeline"), Error);
}

TEST_CASE("a million microbatches, and more than an order can have") {
  const Simulation million = simulate(job_of(8, 1, 1'000'000));
  const Simulation some = simulate(job_of(8, 1, 1'000));
  CHECK(million.program.size() < 100'000);
  CHECK(million.result.iteration_time_s == doctest::Approx(1000 * some.result.iteration_time_s).epsilon(0.01));
  CHECK(million.result.tokens_per_s >= some.result.tokens_per_s);
  CHECK_THROWS_AS(simulate(job_of(8, 1, 100'000'000)), Error);
}

}  // namespace long_iterations_test
