#include "simulation/outer_step.hpp"

#include "base/error.hpp"
#include "job_fixture.hpp"
#include "program/outer_state.hpp"
#include "simulation/laws.hpp"

#include <doctest/doctest.h>

#include <string>

namespace outer_step_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

// A learner of two nodes with tensor 2, data 8.
Job learner(const LocalSteps& steps) {
  Job job = small_job(4, 2, sized(2, 8, 1), 32);
  job.training.local_steps = steps;
  return job;
}

LocalSteps steps_of(int learners, int every, int fragments, int delay) {
  LocalSteps out;
  out.learners = learners;
  out.every = every;
  out.fragments = fragments;
  out.delay = delay;
  out.bandwidth = 1e9;
  return out;
}

}  // namespace

TEST_CASE("a learner sends 2 (M - 1)/M of its parameters, each once, whatever its ranks hold") {
  const Simulation one = simulate(learner({}));
  CHECK(one.result.outer == OuterStep());
  const Simulation four = simulate(learner(steps_of(4, 10, 1, 0)));
  const double parameters = count_parameters(four.job.model).total;
  // Tensor ranks both hold norms and biases of rows: less than a hundredth.
  CHECK(exchanged_bytes(four.job, four.plans) == doctest::Approx(4 * parameters).epsilon(0.01));
  CHECK(four.result.outer.sent_bytes == 1.5 * exchanged_bytes(four.job, four.plans));
  CHECK(four.result.outer.exchange_s == doctest::Approx(four.result.outer.sent_bytes / 1e9));
  // Nothing goes on meanwhile: all of it is waited for, once in ten steps.
  CHECK(four.result.outer.exposed_s == doctest::Approx(four.result.outer.exchange_s / 10));
  CHECK(four.result.iteration_time_s == doctest::Approx(one.result.iteration_time_s + four.result.outer.exposed_s));
  CHECK(broken_laws(four.job, four.result).empty());
  CHECK(four.result.energy_j > one.result.energy_j);
  CHECK(notes_on(four.job, four.result).size() == notes_on(one.job, one.result).size() + 1);
}

TEST_CASE("fragments hide behind the steps that go on, as far as the link sends them in time") {
  const double step_s = simulate(learner({})).result.iteration_time_s;
  const double whole_s = simulate(learner(steps_of(2, 1000, 1, 0))).result.outer.exchange_s;
  REQUIRE(whole_s > 2 * step_s);
  const auto exposed = [&](int every, int fragments, int delay, double slower) {
    LocalSteps steps = steps_of(2, every, fragments, delay);
    steps.bandwidth /= slower;
    return simulate(learner(steps)).result.outer.exposed_s;
  };
  // One of 100 fragments is sent within two steps, and all of them within the thousand.
  REQUIRE(whole_s / 100 < 2 * step_s);
  CHECK(exposed(1000, 100, 2, 1) == 0);
  // Without delay each of them is waited for.
  CHECK(exposed(1000, 100, 0, 1) == doctest::Approx(whole_s / 1000));
  // Sent whole, two steps go on, and the rest is waited for.
  CHECK(exposed(1000, 1, 2, 1) == doctest::Approx((whole_s - 2 * step_s) / 1000));
  // A link that needs more than all the steps decides, whatever goes on meanwhile.
  const double slower = 3 * 100 * step_s / whole_s;
  CHECK(exposed(100, 100, 99, slower) == doctest::Approx(2 * step_s));
}

TEST_CASE("formats, latencies and the ports of the nodes decide the exchange") {
  LocalSteps steps = steps_of(2, 50, 5, 0);
  const double fp32 = simulate(learner(steps)).result.outer.exchange_s;
  steps.exchange = "fp4";
  CHECK(simulate(learner(steps)).result.outer.exchange_s == doctest::Approx(fp32 / 8));
  steps.latency_s = 0.1;  // two messages for each of five fragments
  CHECK(simulate(learner(steps)).result.outer.exchange_s == doctest::Approx(fp32 / 8 + 5 * 2 * 0.1));
  steps.bandwidth = 0;
  const Job job = learner(steps);
  const NodeHardware& node = job.cluster.groups().front().hardware;
  CHECK(simulate(job).result.outer.bandwidth ==
        doctest::Approx(2 * node.spec.ports * node.network.bandwidth.value * node.network.efficiency.value));
}

TEST_CASE("the outer optimizer keeps eight bytes a parameter, on the host or on the device") {
  const auto memory = [](const LocalSteps& steps) { return simulate(learner(steps)).result.stages.front().memory; };
  LocalSteps steps = steps_of(4, 10, 1, 0);
  const StageMemory none = memory({});
  const StageMemory host = memory(steps);
  steps.state_on_device = true;
  const StageMemory device = memory(steps);
  const Lowered lowered(learner({}));
  const double bytes = 8 * lowered.plans.front().parameters.elements;  // ZeRO 0: each rank has its parameters whole
  CHECK(host.host - none.host == doctest::Approx(bytes));
  CHECK(host.peak == none.peak);
  CHECK(device.host == none.host);
  CHECK(device.peak.optimizer - none.peak.optimizer == doctest::Approx(bytes));
  steps.every = 1;  // gradients are exchanged: there is no outer optimizer
  CHECK(memory(steps).peak == none.peak);
}

TEST_CASE("the time and the cost of the training are those of all learners") {
  LocalSteps steps = steps_of(4, 1000, 1, 999);
  steps.bandwidth = 1e15;
  Job alone = learner({});
  alone.training.tokens = 1e9;
  Job joined = learner(steps);
  joined.training.tokens = 1e9;
  const IterationResult one = simulate(alone).result;
  const IterationResult four = simulate(joined).result;
  CHECK(four.training_time_s == doctest::Approx(one.training_time_s / 4));
  CHECK(four.training_cost_usd == doctest::Approx(one.training_cost_usd));
}

}  // namespace outer_step_test
