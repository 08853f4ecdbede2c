#include "training/failures.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak {

double unit_count(FailureUnit unit, const Cluster& cluster, int nodes_of_group) {
  double ports = 0;
  for (const NodeGroup& group : cluster.groups()) ports += group.nodes() * group.hardware.spec.ports;
  switch (unit) {
    case FailureUnit::gpu:
      return cluster.physical_gpus();
    case FailureUnit::node:
      return cluster.nodes();
    case FailureUnit::link:
      return ports;
    case FailureUnit::group:
      return std::ceil(static_cast<double>(cluster.nodes()) / std::max(1, nodes_of_group));
    case FailureUnit::job:
      break;
  }
  return 1;
}

std::vector<double> NodeSpread::draw(std::size_t nodes, RandomStream& random) const {
  std::vector<double> drawn(nodes, 1);
  if (sigma > 0) {
    for (double& factor : drawn) factor = std::exp(sigma * random.normal() - sigma * sigma / 2);
  }
  for (std::size_t node = 0; node < std::min(nodes, factors.size()); ++node) drawn[node] *= factors[node];
  return drawn;
}

double Failures::rate_per_s() const {
  double rate = 0;
  for (const FailureCause& cause : causes) rate += cause.rate_per_s;
  return rate;
}

}  // namespace mirfak
