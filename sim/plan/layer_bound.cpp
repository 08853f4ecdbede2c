#include "plan/layer_bound.hpp"

#include "cost/power_limit.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

void count_kernels(const Body& body, double& seconds, double& highest_draw) {
  Picoseconds sum = 0;
  for (const BodyStep& step : body.steps) {
    if (step.stream != StreamKind::compute) continue;
    sum += step.device;
    highest_draw = std::max(highest_draw, step.draw);
  }
  seconds += to_seconds(sum);
}

}  // namespace

LayerBound::LayerBound(const Job& job) {
  const std::vector<JobLayer> kinds = job_layers(job);
  for (const JobLayer& kind : kinds) kinds_.emplace_back(shard_kept_layer(job, kind), 0);
  for (std::int64_t layer = 0; layer < job.model.layers; ++layer) {
    const auto kind = std::find(kinds.begin(), kinds.end(), job_layer(job, layer)) - kinds.begin();
    ++kinds_[static_cast<std::size_t>(kind)].second;
  }
}

LayerBound::Terms LayerBound::on(const Job& job, const StageCosts& costs) {
  const BodyCache::Place place = BodyCache::place_of(costs, 1);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(place); known != known_.end()) return known->second;
  }
  const Terms made = price(job, costs);
  const std::lock_guard lock(mutex_);
  return known_.emplace(place, made).first->second;
}

// Recomputed layers run the same kernels. Whatever the mix, its clock is no lower than that of the kernel that draws
// most and nothing else. Prediction modules have kernels of their own: nothing is said of their jobs' energy.
LayerBound::Terms LayerBound::price(const Job& job, StageCosts costs) const {
  const double highest = std::min(1.0, costs.hardware.hardware.gpu.sustained_share.value);
  costs.kernels.set_clock_share(highest);
  Terms out;
  double draw = 0;
  for (const auto& [block, count] : kinds_) {
    const BlockBodies bodies = price_block(job, block, costs);
    double kernels_s = 0;
    count_kernels(bodies.forward, kernels_s, draw);
    count_kernels(bodies.backward, kernels_s, draw);
    out.kernels_s += count * kernels_s;
    out.device += count * (bodies.folded_forward.device + bodies.folded_backward.device);
  }
  if (job.model.prediction_layers > 0) return out;
  const double lowest = draw > 1 ? std::pow(draw, -1 / kPowerExponent) : 1;
  costs.kernels.set_clock_share(std::min(highest, lowest));
  for (const auto& [block, count] : kinds_) {
    const BlockBodies bodies = price_block(job, block, costs);
    out.energy_j += count * (bodies.folded_forward.energy_j + bodies.folded_backward.energy_j);
  }
  return out;
}

}  // namespace mirfak
