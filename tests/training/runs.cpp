#include "base/error.hpp"
#include "training/estimate.hpp"
#include "training/plain_course.hpp"
#include "training/renewal.hpp"
#include "training/training_figures.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace mirfak {

namespace {

using test::kDay;
using test::plain_course;

double part(const TimeParts& parts, TimePart of) { return parts[static_cast<std::size_t>(of)]; }

FailureCause cause(const char* name, double per_day, int nodes, double repair_s) {
  FailureCause made;
  made.name = name;
  made.rate_per_s = per_day / kDay;
  made.nodes = nodes;
  made.repair_s = repair_s;
  return made;
}

// The stretches of a run follow each other without gaps to its end.
void check_spans(const TrainingCourse& course, std::uint64_t stream) {
  std::vector<RunSpan> spans;
  const RunResult run = run_training(course, RandomStream(7, stream), &spans);
  double now = 0;
  for (const RunSpan& span : spans) {
    CHECK(span.start_s == doctest::Approx(now));
    CHECK(span.end_s > span.start_s);
    now = span.end_s;
  }
  CHECK(run.finish_s == doctest::Approx(now));
  CHECK(run.finish_s == total(run.parts));
  for (const double seconds : run.parts) CHECK(seconds >= 0);
}

// All that a course can have.
TrainingCourse eventful() {
  TrainingCourse course{WorkCalendar({{2000, 3.0, 900}, {20'000, 20.0, 1000}},
                                     {{120, 1, 0, 20, true, 1}, {1800, 30, 200, 90, false, 0}}, {500, 120})};
  course.nodes = 64;
  course.spares = 2;
  course.nodes_per_replica = 8;
  course.detection_s = 120;
  course.restart_s = 300;
  course.failures.causes = {cause("gpu", 0.5, 1, 2 * kDay), cause("software", 0.5, 0, 0), cause("rack", 0.1, 4, kDay),
                            cause("preempted", 0.3, 1, 3600)};
  course.failures.causes.back().notice_s = 300;
  course.failures.causes.back().unpaid = true;
  course.failures.spread.sigma = 0.7;
  course.maintenance = {7 * kDay, 7200};
  course.costs.usd_per_node_s = 0.01;
  course.costs.idle_w = 200;
  course.costs.pue = 1.25;
  course.costs.carbon = CarbonIntensity({400, 200, 100}, "made up");
  return course;
}

}  // namespace

TEST_CASE("without failures a training takes its iterations times their time, exactly") {
  const RunResult run = run_training(plain_course(12'345, 7.7, 64, 0, {}, 600), RandomStream(1, 0));
  CHECK(run.finish_s == 12'345 * 7.7);
  CHECK(part(run.parts, TimePart::training) == run.finish_s);
  const TrainingEstimate estimate = estimate_training(plain_course(12'345, 7.7, 64, 0, {}, 600), 5, 1);
  CHECK(estimate.goodput == 1);
  CHECK(estimate.finish_p95_s.value == 12'345 * 7.7);
}

TEST_CASE("checkpoints without failures add their time, and no more") {
  const RunResult blocking =
      run_training(plain_course(1000, 10, 64, 0, {200, 5, 0, 0, false, 0}, 0), RandomStream(1, 0));
  CHECK(blocking.finish_s == 10'000 + 50 * 5);
  const RunResult beside =
      run_training(plain_course(1000, 10, 64, 0, {200, 0, 30, 0, false, 0}, 0), RandomStream(1, 0));
  CHECK(beside.finish_s == 10'000 + 30);  // the last one is waited for
}

TEST_CASE("a logged failure costs what lies behind the last checkpoint, detection, restart and reading") {
  TrainingCourse course = plain_course(100, 10, 8, 0, {100, 5, 0, 40, false, 0}, 300);
  course.detection_s = 60;
  course.failures.causes = {cause("node", 0, 1, 0)};
  course.failures.log = {{250, 0}};  // 2 checkpoints at 105 and 210; 40 s behind the second
  const RunResult run = run_training(course, RandomStream(1, 0));
  CHECK(part(run.parts, TimePart::rework) == doctest::Approx(40));
  CHECK(part(run.parts, TimePart::detection) == 60);
  CHECK(part(run.parts, TimePart::restart) == 300);
  CHECK(part(run.parts, TimePart::reading) == 40);
  CHECK(part(run.parts, TimePart::saving) == 50);
  CHECK(run.finish_s == doctest::Approx(1000 + 50 + 40 + 60 + 300 + 40));
  CHECK(run.causes[0].lost_s == doctest::Approx(440));

  SUBCASE("a second one while the first is repaired begins it anew") {
    course.failures.log.push_back({500, 0});  // 190 s into the restart
    const RunResult twice = run_training(course, RandomStream(1, 0));
    CHECK(twice.finish_s == doctest::Approx(run.finish_s + 250));
  }
  SUBCASE("a checkpoint that is being written does not count") {
    course.failures.log = {{208, 0}};
    const RunResult during = run_training(course, RandomStream(1, 0));
    CHECK(part(during.parts, TimePart::rework) == doctest::Approx(103));
  }
}

TEST_CASE("states in memory outlive the failure of a node, not of a rack") {
  TrainingCourse course{WorkCalendar({{100, 10, 1}}, {{20, 0, 0, 1, true, 1}, {200, 0, 0, 50, false, 0}}, {})};
  course.nodes = 8;
  course.failures.causes = {cause("node", 0, 1, 0), cause("rack", 0, 4, 0)};
  course.failures.log = {{395, 0}};
  const RunResult node = run_training(course, RandomStream(1, 0));
  CHECK(part(node.parts, TimePart::rework) == doctest::Approx(15));
  CHECK(part(node.parts, TimePart::reading) == 1);
  course.failures.log = {{395, 1}};
  const RunResult rack = run_training(course, RandomStream(1, 0));
  CHECK(part(rack.parts, TimePart::rework) == doctest::Approx(195));
  CHECK(part(rack.parts, TimePart::reading) == 50);
  CHECK(rack.finish_s == doctest::Approx(1000 + 195 + 50));
}

TEST_CASE("a repaired node joins at the end of the iteration that runs, by one restart") {
  // A node of 8 fails at 205 s, and is back 98 s later; iterations of 10 s take 80/7 s meanwhile.
  TrainingCourse course = plain_course(1000, 10, 8, 0, {100, 0, 0, 0, false, 0}, 0);
  course.nodes_per_replica = 1;
  course.failures.causes = {cause("node", 0, 1, 98)};
  course.failures.log = {{205, 0}};
  for (const double restart_s : {0.0, 1.0}) {
    course.restart_s = restart_s;
    const RunResult run = run_training(course, RandomStream(1, 0));
    CHECK(run.restarts == 2);
    // Iterations go on from 200 s: 9 slow ones until 303 s, of which the last is under way then.
    CHECK(part(run.parts, TimePart::rework) == doctest::Approx(5));
    CHECK(part(run.parts, TimePart::slowed) == doctest::Approx(9 * (80.0 / 7 - 10)));
    CHECK(run.finish_s == doctest::Approx(10'000 + 5 + 9 * (80.0 / 7 - 10) + 2 * restart_s));
  }
}

TEST_CASE("a training whose maintenance comes before any iteration ends is refused, not run for ever") {
  TrainingCourse course = plain_course(10, 1000, 8, 0, {}, 0);
  course.maintenance = {500, 1};
  CHECK_THROWS_AS(run_training(course, RandomStream(1, 0)), Error);
}

TEST_CASE("without a spare the training waits for the repair; with one it does not; on fewer replicas it is slower") {
  TrainingCourse course = plain_course(1000, 10, 8, 0, {100, 0, 0, 0, false, 0}, 0);
  course.failures.causes = {cause("node", 0, 1, 3000)};
  course.failures.log = {{2000, 0}};
  CHECK(run_training(course, RandomStream(1, 0)).finish_s == doctest::Approx(13'000));
  course.spares = 1;
  CHECK(run_training(course, RandomStream(1, 0)).finish_s == doctest::Approx(10'000));
  course.spares = 0;
  course.nodes_per_replica = 2;  // 3 of 4 replicas for 3000 s: what 2250 s do with all
  const RunResult fewer = run_training(course, RandomStream(1, 0));
  CHECK(fewer.finish_s == doctest::Approx(10'750).epsilon(0.001));
  CHECK(part(fewer.parts, TimePart::slowed) == doctest::Approx(750).epsilon(0.02));
}

TEST_CASE("notice of a preemption is enough to save") {
  TrainingCourse course = plain_course(1000, 10, 8, 0, {5000, 30, 0, 0, false, 0}, 100);
  course.failures.causes = {cause("preemption", 0, 1, 0)};
  course.failures.log = {{4000, 0}};
  CHECK(part(run_training(course, RandomStream(1, 0)).parts, TimePart::rework) == doctest::Approx(4000));
  course.failures.causes[0].notice_s = 120;
  const RunResult noticed = run_training(course, RandomStream(1, 0));
  CHECK(part(noticed.parts, TimePart::rework) == doctest::Approx(0).epsilon(1e-9));
  CHECK(noticed.finish_s == doctest::Approx(10'000 + 30 + 2 * 30 + 100));
}

TEST_CASE("maintenance comes when it is planned and loses nothing") {
  TrainingCourse course = plain_course(1000, 10, 8, 0, {5000, 30, 0, 0, false, 0}, 100);
  course.maintenance = {4000, 600};
  const RunResult run = run_training(course, RandomStream(1, 0));
  CHECK(part(run.parts, TimePart::maintenance) == 1200);
  CHECK(part(run.parts, TimePart::restart) == 200);
  CHECK(part(run.parts, TimePart::rework) == 0);
}

TEST_CASE("nodes worse than others fail as often as their factors say") {
  TrainingCourse course = plain_course(200'000, 10, 16, 0.05, {600, 5, 0, 0, false, 0}, 0);
  const double plain = estimate_training(course, 200, 1).interruptions[0];
  course.failures.spread.factors = {17};
  const double with_one = estimate_training(course, 200, 1).interruptions[0];
  CHECK(with_one / plain == doctest::Approx(2).epsilon(0.05));
}

TEST_CASE("everything at once: stretches follow each other, parts sum to the whole") {
  const TrainingCourse course = eventful();
  for (std::uint64_t stream = 0; stream < 20; ++stream) check_spans(course, stream);
}

TEST_CASE("energy, carbon and money follow the time") {
  TrainingCourse course = plain_course(3600, 1, 8, 0, {}, 0);  // 1 kW for an hour
  course.costs.pue = 1.5;
  course.costs.cooling_w = 100;
  course.costs.usd_per_node_s = 2.0 / 3600;
  course.costs.carbon = CarbonIntensity({500}, "made up");
  const RunResult run = run_training(course, RandomStream(1, 0));
  CHECK(run.energy_j == doctest::Approx(3.6e6));
  CHECK(run.facility_energy_j == doctest::Approx(1.6 * 3.6e6));
  CHECK(run.co2_kg == doctest::Approx(0.8));
  CHECK(run.cost_usd == doctest::Approx(16));
  course.costs.carbon = CarbonIntensity({100, 300, 200}, "made up");
  course.calendar = WorkCalendar({{5400, 1, 1000.0}}, {{}}, {});
  CHECK(run_training(course, RandomStream(1, 0)).co2_kg == doctest::Approx(1.6 * (0.1 + 0.15)));
}

TEST_CASE("energies of a training have the range of an iteration's, in proportion") {
  TrainingPrediction prediction{plain_course(3600, 1, 8, 0, {}, 0)};
  prediction.estimate.energy_j = 1000;
  prediction.estimate.around_j = 200;
  prediction.estimate.facility_energy_j = 1500;
  const Facility facility;
  const auto figure = [&](const char* key) { return training_figure(key).value({prediction, facility}); };
  CHECK_FALSE(figure("energy_low_j").known);
  CHECK_FALSE(figure("machine_energy_high_j").known);
  // GPUs: 10 J, 9 to 12; the machine: 20 J, 16 to 25.
  prediction.iteration.energy_j = 10;
  prediction.iteration.energy_low_j = 9;
  prediction.iteration.energy_high_j = 12;
  prediction.iteration.machine_energy_j = 20;
  prediction.iteration.machine_energy_low_j = 16;
  prediction.iteration.machine_energy_high_j = 25;
  CHECK(figure("energy_low_j").known);
  CHECK(figure("energy_low_j").number == doctest::Approx(720));   // 800 x 9 / 10
  CHECK(figure("energy_high_j").number == doctest::Approx(960));  // 800 x 12 / 10
  CHECK(figure("machine_energy_low_j").number == doctest::Approx(800));
  CHECK(figure("machine_energy_high_j").number == doctest::Approx(1250));
  CHECK(figure("facility_energy_low_j").number == doctest::Approx(1200));
  CHECK(figure("facility_energy_high_j").number == doctest::Approx(1875));
}

TEST_CASE("one seed gives the same bits on any number of threads, another seed others") {
  const TrainingCourse course = eventful();
  const TrainingEstimate one = estimate_training(course, 60, 5, 1);
  const TrainingEstimate many = estimate_training(course, 60, 5, 4);
  CHECK(one.finish_mean_s.value == many.finish_mean_s.value);
  CHECK(one.finish_p95_s.value == many.finish_p95_s.value);
  CHECK(one.co2_kg == many.co2_kg);
  CHECK(one.parts == many.parts);
  CHECK(one.finish_mean_s.value != estimate_training(course, 60, 6, 1).finish_mean_s.value);
}

TEST_CASE("the errors that are told are those that other seeds show") {
  const TrainingCourse course = plain_course(20'000, 12, 512, 4e-3, {480, 20, 0, 0, false, 0}, 600);
  std::vector<double> medians;
  double told = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const TrainingEstimate estimate = estimate_training(course, 200, seed);
    medians.push_back(estimate.finish_p50_s.value);
    told += estimate.finish_p50_s.error / 40;
  }
  double mean = 0;
  for (const double median : medians) mean += median / 40;
  double variance = 0;
  for (const double median : medians) variance += (median - mean) * (median - mean) / 39;
  CHECK(told == doctest::Approx(std::sqrt(variance)).epsilon(0.35));
}

TEST_CASE("a training that failures never let end is refused") {
  TrainingCourse course = plain_course(1000, 10, 8, 5000, {5000, 30, 0, 0, false, 0}, 100);
  CHECK_THROWS_WITH(run_training(course, RandomStream(1, 0)), doctest::Contains("does not end"));
}

TEST_CASE("spares are worth their price while they spare waiting") {
  TrainingCourse course = plain_course(50'000, 20, 64, 0.01, {600, 5, 0, 0, false, 0}, 300);
  course.failures.causes[0].repair_s = 2 * kDay;
  const int free_of_price = best_spares(course, 10, 50, 1);
  CHECK(free_of_price > 0);
  course.costs.usd_per_node_s = 0.01;
  const int priced = best_spares(course, 10, 50, 1);
  CHECK(priced > 0);
  course.spares = priced;
  const double cost = estimate_training(course, 50, 1).cost_usd;
  for (const int other : {0, priced - 1, priced + 1}) {
    course.spares = other;
    CHECK(cost <= estimate_training(course, 50, 1).cost_usd);
  }
}

}  // namespace mirfak
