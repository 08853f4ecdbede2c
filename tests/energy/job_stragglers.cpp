// Perturbations of a scenario, as pipelines that wait see them.

#include "energy/job_stragglers.hpp"
#include "simulation/iteration.hpp"
#include "simulation/spread.hpp"

#include "../program/job_fixture.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::test;

namespace {

Job perturbed_job(Perturbations perturbations) {
  Strategy s;
  s.data = 4;
  s.pipeline = 2;
  Job job = small_job(4, 1, s, 16);
  std::vector<NodeAllotment> nodes(job.cluster.groups().begin(), job.cluster.groups().end());
  job.cluster = Cluster(std::move(nodes), job.cluster.fabric(), std::move(perturbations));
  return job;
}

}  // namespace

TEST_CASE("fixed factors make one straggler, the iteration with them; none make none") {
  CHECK(job_stragglers(perturbed_job({})).slowdowns.empty());
  Perturbations fixed;
  fixed.ranks[3] = {.compute = 1.5, .host = 1.5};
  const JobStragglers found = job_stragglers(perturbed_job(fixed));
  REQUIRE(found.slowdowns.size() == 1);
  CHECK(found.even.cluster.perturbations().empty());
  const double expected =
      simulate(perturbed_job(fixed)).result.iteration_time_s / simulate(found.even).result.iteration_time_s;
  CHECK(found.slowdowns.front() == expected);
  CHECK(found.slowdowns.front() > 1.2);
}

TEST_CASE("drawn factors make a median and a 95th percentile") {
  Perturbations drawn;
  drawn.drawn_ranks.compute = Distribution(Distribution::Lognormal{1, 0.1});
  drawn.drawn_ranks.host = Distribution(Distribution::Lognormal{1.1, 0.1});
  const JobStragglers found = job_stragglers(perturbed_job(drawn), 200);
  REQUIRE(found.slowdowns.size() == 2);
  CHECK(found.slowdowns[0] < found.slowdowns[1]);
  const Spread spread = sample_iterations(perturbed_job(drawn), {200, {}, true, 0});
  CHECK(found.slowdowns[1] == spread.quantiles[1].value / spread.without_s);
}
