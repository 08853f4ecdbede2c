// Corrections of a node type, in whole iterations: each factor lengthens its own part, all three together all.

#include "simulation/time_factors.hpp"

#include "job_fixture.hpp"
#include "simulation/corrections.hpp"
#include "simulation/iteration.hpp"
#include "simulation/prediction_range.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace time_factors_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

std::vector<Job> jobs() {
  std::vector<Job> out;
  for (const char* framework : {"megatron-lm-2021", "megatron-core", "deepspeed", "pytorch-fsdp"}) {
    for (const int tensor : {1, 4}) {
      const bool stages = std::string(framework).starts_with("megatron");
      if (!stages && tensor > 1) continue;
      Strategy s;
      s.tensor = tensor;
      s.pipeline = stages ? 2 : 1;
      s.data = 16 / s.tensor / s.pipeline;
      s.schedule = schedule_named("1f1b");
      if (!stages) s.zero = 3;
      out.push_back(small_job(8, 2, s, 32));
      out.back().framework = framework_named(framework);
    }
  }
  return out;
}

double seconds(const Job& job) { return simulate(job).result.iteration_time_s; }

}  // namespace

TEST_CASE("all factors together stretch an iteration as a whole") {
  for (const Job& job : jobs()) {
    INFO(job.framework.name);
    const double base = seconds(job);
    CHECK(seconds(with_time_factors(job, {})) == base);
    for (const double factor : {0.8, 1.5}) {
      CHECK(seconds(with_time_factors(job, {factor, factor, factor})) == doctest::Approx(factor * base).epsilon(1e-3));
    }
  }
}

TEST_CASE("what an iteration follows adds up to itself") {
  for (const Job& job : jobs()) {
    const FactorVector slopes = time_sensitivities(job, seconds(job));
    INFO(job.framework.name << ": kernels " << slopes[0] << ", communication " << slopes[1] << ", host " << slopes[2]);
    for (const double slope : slopes) CHECK(slope >= 0);
    CHECK(std::accumulate(slopes.begin(), slopes.end(), 0.0) == doctest::Approx(1).epsilon(0.05));
  }
}

TEST_CASE("communication follows its factor, and nothing else does") {
  const Job job = free_communication(jobs().front());
  CHECK(seconds(with_time_factors(job, {1, 3, 1})) == doctest::Approx(seconds(job)).epsilon(1e-3));
  const Job priced = jobs()[1];
  CHECK(time_sensitivities(priced, seconds(priced))[1] > 0.01);
}

TEST_CASE("own runs make ranges as wide as they leave predictions uncertain, and are noted") {
  Job job = jobs().front();
  job.ranges.level = 0.8;
  job.ranges.below = job.ranges.above = {0.2, 0, 0, 0};
  job.ranges.own_runs = {{0.1, 0.3, 0.4}, 0.05, 1.3};
  CHECK(corrections_of(job).empty());
  Job corrected = with_time_factors(job, {1.1, 1, 1});
  std::vector<NodeAllotment> nodes(corrected.cluster.groups().begin(), corrected.cluster.groups().end());
  Correction& correction = *nodes.front().hardware.spec.correction;
  correction.run_deviation = 0.03;
  correction.framework = "another";
  correction.source = "5 runs of own.csv";
  corrected.cluster = Cluster(nodes, corrected.cluster.fabric());

  const IterationResult result = simulate(corrected).result;
  CHECK(range_deviation(correction, result) == doctest::Approx(0.03));
  CHECK(result.iteration_time_high_s == doctest::Approx(result.iteration_time_s * std::exp(1.3 * 0.03)));
  CHECK(result.iteration_time_low_s == doctest::Approx(result.iteration_time_s * std::exp(-1.3 * 0.03)));
  correction.covariance[0][0] = 0.04 * 0.04;
  CHECK(range_deviation(correction, result) > 0.03);
  CHECK(range_deviation(correction, result) < std::hypot(0.03, 0.04));

  const std::vector<std::string> notes = corrections_of(corrected);
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].find("corrected by 5 runs of own.csv, how many times as long as by the profiles: kernels 1.1") !=
        std::string::npos);
  CHECK(notes[1].find("those runs were under another") == 0);
}

}  // namespace time_factors_test
