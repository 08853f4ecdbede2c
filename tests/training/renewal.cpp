#include "training/renewal.hpp"

#include "training/estimate.hpp"
#include "training/plain_course.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace mirfak {

namespace {

constexpr double kLlamaRate = 3.79e-3;  // failures per node-day
constexpr int kLlamaNodes = 2048;

double per_second(double rate_per_node_day, int nodes) { return rate_per_node_day * nodes / test::kDay; }

// E[ETTR] and its best interval as published, to first order in the rate.
double first_order(double rate, double write_s, double restart_s, double interval_s) {
  return (1 - rate * (restart_s + interval_s / 2)) / (1 + write_s / interval_s);
}
double first_order_interval(double rate, double write_s) { return std::sqrt(2 * write_s / rate); }

struct SimulatedGoodput {
  double value = 0;
  double error = 0;
};

// Many trainings of some hundred intervals each.
SimulatedGoodput simulated(double rate_per_node_day, int nodes, const CheckpointTier& storage, double restart_s,
                           double days = 200'000) {
  constexpr int kSamples = 400;
  const double iteration_s = storage.interval_s / 8;
  const auto iterations = std::llround(days / kSamples * test::kDay / storage.interval_s) * 8;
  const TrainingEstimate estimate = estimate_training(
      test::plain_course(iterations, iteration_s, nodes, rate_per_node_day, storage, restart_s), kSamples, 1);
  return {estimate.goodput, estimate.goodput * estimate.finish_mean_s.error / estimate.finish_mean_s.value};
}

}  // namespace

TEST_CASE("the published figures of Llama 3 follow from its 419 interruptions in 54 days") {
  CHECK(419.0 / 54 / kLlamaNodes == doctest::Approx(kLlamaRate).epsilon(0.001));
  const double rate = per_second(kLlamaRate, kLlamaNodes);
  CHECK(first_order_interval(rate, 10) / 60 == doctest::Approx(7.9).epsilon(0.01));
  CHECK(first_order(rate, 10, 600, first_order_interval(rate, 10)) == doctest::Approx(0.906).epsilon(0.0005));
  CHECK(first_order(rate, 60, 600, first_order_interval(rate, 60)) == doctest::Approx(0.850).epsilon(0.0005));
  CHECK(first_order(rate, 10, 60, first_order_interval(rate, 10)) == doctest::Approx(0.953).epsilon(0.0005));
}

TEST_CASE("simulated trainings reach the renewal formula within 0.2 %") {
  struct Case {
    double write_s;
    double restart_s;
  };
  for (const Case of : {Case{10, 600}, Case{60, 600}, Case{10, 60}, Case{300, 1800}}) {
    const double rate = per_second(kLlamaRate, kLlamaNodes);
    const RenewalCase renewal{rate, of.write_s, 0, of.restart_s};
    const double interval = best_interval(renewal);
    const SimulatedGoodput found =
        simulated(kLlamaRate, kLlamaNodes, {interval, of.write_s, 0, 0, false, 0}, of.restart_s);
    CAPTURE(of.write_s);
    CHECK(found.value == doctest::Approx(renewal_goodput(renewal, interval)).epsilon(0.002));
    CHECK(found.error < 0.0007);
  }
}

TEST_CASE("asynchronous checkpoints count when they are written, and the formula for them is exact too") {
  for (const double write_s : {30.0, 120.0, 400.0}) {
    const RenewalCase renewal{per_second(kLlamaRate, kLlamaNodes), 5, write_s, 300};
    constexpr double kInterval = 480;
    const SimulatedGoodput found = simulated(kLlamaRate, kLlamaNodes, {kInterval, 5, write_s, 0, false, 0}, 300);
    CHECK(found.value == doctest::Approx(renewal_goodput(renewal, kInterval)).epsilon(0.002));
  }
}

TEST_CASE("Young's and Daly's first order holds where failures are rare") {
  const double rate = per_second(1e-3, 64);
  constexpr double kWrite = 5;
  constexpr double kRestart = 300;
  const double interval = first_order_interval(rate, kWrite);
  const RenewalCase renewal{rate, kWrite, 0, kRestart};
  CHECK(best_interval(renewal) == doctest::Approx(interval).epsilon(0.01));
  CHECK(renewal_goodput(renewal, interval) ==
        doctest::Approx(first_order(rate, kWrite, kRestart, interval)).epsilon(0.01));
  const SimulatedGoodput found = simulated(1e-3, 64, {interval, kWrite, 0, 0, false, 0}, kRestart, 400'000);
  CHECK(found.value == doctest::Approx(first_order(rate, kWrite, kRestart, interval)).epsilon(0.01));
}

TEST_CASE("no interval beats the best one") {
  for (const double rate : {1e-6, 1e-4, 1e-3}) {
    for (const double stall_s : {1.0, 60.0, 900.0}) {
      const RenewalCase renewal{rate, stall_s, 0, 600};
      const double best = best_interval(renewal);
      for (const double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0}) {
        CHECK(renewal_goodput(renewal, best) >= renewal_goodput(renewal, best * factor));
      }
    }
  }
  CHECK(best_interval({0, 10, 0, 0}) == std::numeric_limits<double>::infinity());
  CHECK(best_interval({1e-4, 0, 120, 0}) == 120);  // nothing but the write before it holds up the next
}

TEST_CASE("what training, saving and restarting of a mean run take sums to the formula's time") {
  const CheckpointTier storage{480, 10, 0, 0, false, 0};
  const TrainingCourse course = test::plain_course(100'000, 12, kLlamaNodes, kLlamaRate, storage, 600);
  const TrainingEstimate estimate = estimate_training(course, 2000, 3);
  CHECK(estimate.finish_mean_s.value == doctest::Approx(renewal_finish(course)).epsilon(0.001));
}

}  // namespace mirfak
