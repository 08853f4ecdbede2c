// Drawn factors of jobs that share a cluster's network.
#include "simulation/joint_spread.hpp"

#include "base/error.hpp"
#include "jobs_on_leaves.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace {

Perturbations drawn() {
  const Document document = Document::from_text(
      "{jitter: {compute: {lognormal: {sigma: 0.05}}}, nodes: {compute: {lognormal: {sigma: 0.02}}}, seed: 7}",
      "perturbations.yaml");
  return read_perturbations(Node(document), {});
}

std::vector<JobAmong> perturbed_jobs(const std::vector<Job>& jobs) {
  std::vector<JobAmong> out;
  for (const Job& job : jobs) out.push_back({perturbed_by(job, drawn()), 0});
  return out;
}

SpreadOptions samples(int count, int threads = 0) {
  SpreadOptions out;
  out.samples = count;
  out.threads = threads;
  return out;
}

}  // namespace

TEST_CASE("spread of jobs: the same bits on any number of threads, and fewer samples are the first ones") {
  const Cluster cluster = leaves_of_four(16, 8);
  const auto jobs = perturbed_jobs({job_on(cluster, 4, 2, even), job_on(cluster, 4, 2, odd)});
  const JointSpread one = sample_together(jobs, 2, samples(6, 1));
  const JointSpread two = sample_together(jobs, 2, samples(6, 2));
  const JointSpread fewer = sample_together(jobs, 2, samples(4));
  for (std::size_t job = 0; job < 2; ++job) {
    CHECK(one.jobs[job].together_s == two.jobs[job].together_s);
    CHECK(one.jobs[job].alone_s == two.jobs[job].alone_s);
    const std::vector<double>& all = one.jobs[job].together_s;
    CHECK(fewer.jobs[job].together_s == std::vector<double>(all.begin(), all.begin() + 4));
  }
  CHECK(one.jobs[0].alone_s != one.jobs[1].alone_s);  // equal jobs draw independently
}

TEST_CASE("spread of jobs: on links of their own each sample takes its time alone") {
  const Cluster cluster = leaves_of_four(16, 16);
  const JointSpread spread = sample_together(
      perturbed_jobs({job_on(cluster, 4, 2, lower_half), job_on(cluster, 4, 2, upper_half)}), 3, samples(6));
  for (const JobSpread& job : spread.jobs) {
    CHECK(job.together_deviation_s > 0);
    for (std::size_t i = 0; i < job.together_s.size(); ++i) {
      CHECK(job.together_s[i] == doctest::Approx(job.alone_s[i]).epsilon(1e-9));
    }
    CHECK(job.others_share_of_variance() == doctest::Approx(0).epsilon(1e-6));
  }
}

TEST_CASE("spread of jobs: the first iteration of one by itself has the spread of a single job") {
  const Cluster cluster = leaves_of_four(16, 8);
  const auto jobs = perturbed_jobs({job_on(cluster, 4, 2, even)});
  const JointSpread spread = sample_together(jobs, 1, samples(8));
  const Spread single = sample_iterations(jobs[0].job, samples(8));
  CHECK(spread.jobs[0].without_s == doctest::Approx(single.without_s).epsilon(1e-12));
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(spread.jobs[0].alone_s[i] == single.samples[i].time_s);
    CHECK(spread.jobs[0].together_s[i] == doctest::Approx(single.samples[i].time_s).epsilon(1e-12));
  }
}

TEST_CASE("spread of jobs: those that meet take longer than alone with the same draws") {
  const Cluster cluster = leaves_of_four(16, 8);
  const JointSpread spread =
      sample_together(perturbed_jobs({job_on(cluster, 4, 2, even), job_on(cluster, 4, 2, odd)}), 2, samples(8));
  for (const JobSpread& job : spread.jobs) {
    CHECK(job.others_add.value > 0);
    CHECK(job.others_add.value == doctest::Approx(job.together.value - job.alone.value));
    REQUIRE(job.together_quantiles.size() == 3);
    CHECK(job.together_quantiles[0].value <= job.together_quantiles[1].value);
  }
}

TEST_CASE("spread of jobs: where nothing is drawn there is none") {
  const Job job = job_on(leaves_of_four(16, 8), 4, 2, even);
  CHECK_THROWS_AS(sample_together(std::vector<JobAmong>{{job, 0}}, 2, samples(4)), Error);
}

TEST_CASE("jobs: fixed factors of a job's ranks count beside others as they do alone") {
  const Cluster cluster = leaves_of_four(16, 16);
  Perturbations slow;
  slow.ranks[3].host = 2;
  slow.ranks[9].communication = 1.5;
  const Job first = perturbed_by(job_on(cluster, 8, 2, lower_half), slow);
  const Job second = job_on(cluster, 8, 2, upper_half);
  const JointSimulation result = simulate_together(std::vector<JobAmong>{{first, 0}, {second, 0}}, 2);
  CHECK(result.jobs[0].mean_s == doctest::Approx(result.jobs[0].alone.iteration_time_s).epsilon(1e-9));
  CHECK(result.jobs[1].mean_s == doctest::Approx(result.jobs[1].alone.iteration_time_s).epsilon(1e-9));
  CHECK(result.jobs[0].mean_s > result.jobs[1].mean_s * 1.01);
}
