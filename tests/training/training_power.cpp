// The power over a training: its integral is the energy of the run, whatever happens in the run and at any resolution.
#include "training/training_power.hpp"

#include "base/error.hpp"
#include "training/plain_course.hpp"

#include <doctest/doctest.h>

#include <numeric>

namespace mirfak {

namespace {

using test::kDay;
using test::plain_course;

double total_of(const std::vector<double>& series) { return std::accumulate(series.begin(), series.end(), 0.0); }

// All that a course can have: two phases, both tiers, evaluations, failures of four kinds, maintenance.
TrainingCourse interrupted() {
  TrainingCourse course{WorkCalendar({{2000, 3.0, 900}, {20'000, 20.0, 1000}},
                                     {{120, 1, 0, 20, true, 1}, {1800, 30, 200, 90, false, 0}}, {500, 120})};
  course.nodes = 64;
  course.spares = 2;
  course.nodes_per_replica = 8;
  course.detection_s = 120;
  course.restart_s = 300;
  for (const int nodes : {1, 0, 4}) {
    FailureCause cause;
    cause.name = "cause";
    cause.rate_per_s = 0.5 / kDay;
    cause.nodes = nodes;
    cause.repair_s = nodes > 0 ? kDay : 0;
    course.failures.causes.push_back(cause);
  }
  course.failures.causes.back().notice_s = 300;
  course.maintenance = {7 * kDay, 7200};
  course.costs.idle_w = 200;
  course.costs.around_idle_w = 50;
  course.costs.around_working_w = 150;
  return course;
}

}  // namespace

TEST_CASE("the integral of the power is the energy of the run") {
  const TrainingCourse course = interrupted();
  for (std::uint64_t stream = 0; stream < 5; ++stream) {
    std::vector<RunSpan> spans;
    const RunResult run = run_training(course, RandomStream(7, stream), &spans);
    REQUIRE(run.restarts > 0);
    for (const double interval_s : {10.0, 60.0, 3600.0, 1e9}) {
      const TrainingPower power = power_of_run(course, spans, interval_s);
      CHECK(power.energy_j == doctest::Approx(run.energy_j).epsilon(1e-9));
      CHECK(total_of(power.machine_w) * power.interval_s == doctest::Approx(run.energy_j).epsilon(1e-9));
      CHECK(static_cast<double>(power.intervals()) * power.interval_s == doctest::Approx(run.finish_s).epsilon(1e-9));
      double of_parts = 0;
      for (const std::vector<double>& part : power.parts_w) of_parts += total_of(part);
      CHECK(of_parts == doctest::Approx(total_of(power.machine_w)).epsilon(1e-9));
      for (const double watts : power.machine_w) {
        REQUIRE(watts >= 200 * (1 - 1e-9));
        REQUIRE(watts <= 1000 * (1 + 1e-9));
      }
    }
  }
}

// 100 iterations of 10 s at 1000 W, 5 s of waiting at 200 W after every 20 of them.
TEST_CASE("checkpoints are falls to the idle power, and they are counted") {
  TrainingCourse course = plain_course(100, 10, 4, 0, {200, 5, 0, 0, false, 0}, 0);
  course.calendar = WorkCalendar({{100, 10, 1000}}, {{200, 5, 0, 0, false, 0}}, {});
  course.costs.idle_w = 200;
  std::vector<RunSpan> spans;
  const RunResult run = run_training(course, RandomStream(1, 0), &spans);
  REQUIRE(run.finish_s == 1025);
  const TrainingPower power = power_of_run(course, spans, 5);
  REQUIRE(power.intervals() == 205);
  CHECK(power.saves == 5);
  CHECK(power.saving_energy_j == doctest::Approx(5 * 5 * 200));
  CHECK(power.energy_j == doctest::Approx(100 * 10 * 1000 + 5 * 5 * 200));
  for (std::size_t i = 0; i < power.intervals(); ++i) {
    CAPTURE(i);
    CHECK(power.machine_w[i] == doctest::Approx(i % 41 == 40 ? 200 : 1000));
  }
}

TEST_CASE("a resolution that would write too much is refused") {
  TrainingCourse course = plain_course(100'000'000, 10, 4, 0, {}, 0);
  std::vector<RunSpan> spans;
  run_training(course, RandomStream(1, 0), &spans);
  CHECK_THROWS_WITH_AS(power_of_run(course, spans, 1), doctest::Contains("more than 10 million numbers"), Error);
  CHECK(power_of_run(course, spans, 1e6).intervals() == 1000);
}

TEST_CASE("hosts draw less while nothing is trained: energy around GPUs is that of both times") {
  const TrainingCourse course = interrupted();
  const RunResult run = run_training(course, RandomStream(7, 1));
  CHECK(run.around_j > 50 * run.finish_s);
  CHECK(run.around_j < 150 * run.finish_s);
  const double working_s = (run.around_j - 50 * run.finish_s) / 100;
  const auto part = [&](TimePart of) { return run.parts[static_cast<std::size_t>(of)]; };
  CHECK(working_s <= part(TimePart::training) + part(TimePart::rework) + part(TimePart::evaluation) + 1e-6);
  CHECK(working_s >= part(TimePart::training));
}

}  // namespace mirfak
