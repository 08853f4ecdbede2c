#include "simulation/time_factors.hpp"

#include "simulation/iteration.hpp"

#include <cmath>
#include <utility>

namespace mirfak {

Job with_time_factors(Job job, const TimeFactors& factors) {
  std::vector<NodeAllotment> nodes;
  for (const NodeGroup& group : job.cluster.groups()) {
    NodeSpec& spec = nodes.emplace_back(group).hardware.spec;
    if (!spec.correction) spec.correction.emplace();
    spec.correction->factors = factors;
  }
  job.cluster = Cluster(std::move(nodes), job.cluster.fabric(), job.cluster.perturbations(), job.cluster.facility());
  return job;
}

FactorVector time_sensitivities(const Job& job, double iteration_time_s) {
  constexpr double kStep = 1.05;  // far above the rounding to picoseconds, and small enough to be a slope
  FactorVector out{};
  for (std::size_t i = 0; i < kTimeFactors; ++i) {
    TimeFactors factors;
    factors.*kTimeFactorKeys[i].value = kStep;
    const double slower_s = simulate(with_time_factors(job, factors)).result.iteration_time_s;
    out[i] = std::log(slower_s / iteration_time_s) / std::log(kStep);
  }
  return out;
}

}  // namespace mirfak
