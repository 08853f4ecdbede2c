#include "program/expert_load.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace mirfak {

double expert_load(const Job& job) {
  const std::optional<ExpertPopularity>& experts = job.cluster.perturbations().experts;
  if (!experts || !experts->measured()) return 1;
  const MixtureOfExperts& mixture = job.model.mixture;
  return fullest_rank(experts->loads(static_cast<int>(mixture.experts), static_cast<int>(mixture.per_token)),
                      job.strategy.expert);
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
