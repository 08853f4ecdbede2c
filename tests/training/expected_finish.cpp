// The expected end of a training, as searches ask for it.

#include "training/expected_finish.hpp"

#include "base/error.hpp"
#include "cluster/catalog.hpp"
#include "support/source_root.hpp"
#include "training/plain_course.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace mirfak;

namespace {

constexpr int kNodes = 2048;
constexpr double kPerNodeDay = 3.79e-3;

Cluster nodes(int count) {
  return Cluster({{Catalog(source_root() + "/hw_profiles").node("hgx-h100"), count, {}}}, default_fabric());
}

Job job_on(int count) {
  Job job{{}, nodes(count), {}, {}, {}};
  job.training.global_batch = 1024;
  job.training.sequence_length = 4096;
  job.training.tokens = 1024.0 * 4096 * 1e6;
  return job;
}

Operations failing() {
  Operations operations;
  FailureCause cause;
  cause.nodes = 1;
  cause.per = FailureUnit::node;
  cause.rate_per_s = kPerNodeDay * kNodes / test::kDay;
  operations.failures.causes = {cause};
  operations.detection_s = 60;
  operations.restart_s = 540;
  operations.storage = CheckpointPlan();
  operations.storage->interval_s = 480;
  operations.storage->write_s = 10;
  return operations;
}

}  // namespace

TEST_CASE("the expected end is the work over the goodput of the renewal formula") {
  const double finish = ExpectedFinish(job_on(kNodes), failing()).at(4);
  CheckpointTier tier;
  tier.interval_s = 480;
  tier.stall_s = 10;
  CHECK(
      finish ==
      doctest::Approx(renewal_finish(test::plain_course(1'000'000, 4, kNodes, kPerNodeDay, tier, 600))).epsilon(1e-9));
  // By itself, the interval is the best: no other ends before.
  Operations best = failing();
  best.storage->interval_s.reset();
  const double least = ExpectedFinish(job_on(kNodes), best).at(4);
  CHECK(least <= finish);
  for (const double interval : {200.0, 400.0, 600.0, 1200.0}) {
    best.storage->interval_s = interval;
    CHECK(ExpectedFinish(job_on(kNodes), best).at(4) >= least);
  }
}

TEST_CASE("without failures the training is its iterations, saves and pauses") {
  Operations operations;
  operations.iterations = 1000;
  CHECK(ExpectedFinish(job_on(1), operations).at(3) == 3000);
  operations.storage = CheckpointPlan();
  operations.storage->interval_s = 30;
  operations.storage->write_s = 6;
  CHECK(ExpectedFinish(job_on(1), operations).at(3) == doctest::Approx(3600));
  CHECK(ExpectedFinish(job_on(1), operations).at(60) == doctest::Approx(66'000));  // saved behind every one
  operations.storage->interval_s.reset();                                          // by itself: at the end alone
  CHECK(ExpectedFinish(job_on(1), operations).at(3) == doctest::Approx(3006));
  operations.storage->interval_s = 30;
  operations.evaluation = {100, 20};
  CHECK(ExpectedFinish(job_on(1), operations).at(3) == doctest::Approx(3800));
  operations.maintenance = {1000, 50};
  CHECK(ExpectedFinish(job_on(1), operations).at(3) == doctest::Approx(4000));
}

TEST_CASE("the end never comes before that of a shorter iteration, from below the interval to far above") {
  const ExpectedFinish finish(job_on(kNodes), failing());
  double before = finish.at(0);
  CHECK(before >= 10);  // the state at the end is saved
  CHECK(before < 11);
  for (double iteration_s = 1e-3; iteration_s < 1e5; iteration_s *= 1.001) {
    const double now = finish.at(iteration_s);
    CHECK(now >= before);
    before = now;
  }
  CHECK(std::isinf(finish.at(1e9)));
  CHECK(finish.at(480 * (1 + 1e-12)) == doctest::Approx(finish.at(480)).epsilon(1e-9));
}

TEST_CASE("fewer nodes fail in proportion, the job as often") {
  Operations operations = failing();
  FailureCause software;
  software.rate_per_s = 1e-5;
  operations.failures.causes.push_back(software);
  FailureCause rack;
  rack.nodes = 16;
  rack.per = FailureUnit::group;
  rack.rate_per_s = 128e-7;
  operations.failures.causes.push_back(rack);
  const auto rates = on_nodes(operations, nodes(kNodes), nodes(100)).failures.causes;
  CHECK(rates[0].rate_per_s == doctest::Approx(kPerNodeDay * 100 / test::kDay));
  CHECK(rates[1].rate_per_s == 1e-5);
  CHECK(rates[2].rate_per_s == doctest::Approx(7e-7));
}

TEST_CASE("what the closed form does not have is refused, and an interval that no save keeps is never done") {
  const auto refused = [](auto change) {
    Operations operations = failing();
    change(operations);
    CHECK_THROWS_AS(ExpectedFinish(job_on(kNodes), operations), Error);
  };
  refused([](Operations& of) { of.ramp.push_back({10, 512, {}}); });
  refused([](Operations& of) { of.gpu_hours = 1000; });
  refused([](Operations& of) { of.failures.log.push_back({1, 0}); });
  refused([](Operations& of) { of.failures.spread.factors = {2}; });
  Operations slow = failing();
  slow.storage->write_s = 500;
  CHECK(std::isinf(ExpectedFinish(job_on(kNodes), slow).at(4)));
}
