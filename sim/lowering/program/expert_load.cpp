#include "program/expert_load.hpp"

#include "base/averages.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace mirfak {

namespace {

// Returns the rows of each expert over the mean of the rows that tokens choose; empty: all have equally many.
std::vector<double> measured_loads(const Job& job) {
  const std::optional<ExpertPopularity>& experts = job.cluster.perturbations().experts;
  if (!experts || !experts->measured()) return {};
  const MixtureOfExperts& mixture = job.model.mixture;
  std::vector<double> loads = experts->loads(static_cast<int>(mixture.experts), static_cast<int>(mixture.per_token));
  if (const double capacity = job.training.expert_capacity_factor; capacity > 0) {
    for (double& load : loads) load = job.training.pad_to_capacity ? capacity : std::min(load, capacity);
  }
  return loads;
}

}  // namespace

double expert_load(const Job& job) {
  std::vector<double> loads = measured_loads(job);
  if (loads.empty()) return 1;
  if (job.training.expert_capacity_factor > 0) {
    const double taken = mean(loads);
    for (double& load : loads) load /= taken;
  }
  return fullest_rank(loads, job.strategy.expert);
}

double expert_rows(const Job& job) {
  const double capacity = job.training.expert_capacity_factor;
  if (capacity == 0) return 1;
  if (job.training.pad_to_capacity) return capacity;
  const std::vector<double> loads = measured_loads(job);
  return loads.empty() ? std::min(1.0, capacity) : mean(loads);
}

bool is_where_tokens_are(const Operator& op) {
  return op.kind == OperatorKind::dispatch || op.kind == OperatorKind::combine;
}

void scale_expert_rows(OperatorGraph& graph, double load) {
  const double all = std::nextafter(1, 0);  // below 1: tensors of that density are not rows of experts
  for (Tensor& tensor : graph.tensors) {
    if (tensor.density < 1) tensor.density = std::min(all, tensor.density * load);
  }
}

}  // namespace mirfak
