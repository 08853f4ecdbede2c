#include "plan/layer_bound.hpp"

#include "cost/power_limit.hpp"
#include "program/settled_clock.hpp"
#include "program/sharded_state.hpp"
#include "program/stage_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace mirfak {

namespace {

double kernels_s(const Body& body) {
  Picoseconds sum = 0;
  for (const BodyStep& step : body.steps) sum += step.stream == StreamKind::compute ? step.device : 0;
  return to_seconds(sum);
}

double highest_draw(const Body& body) {
  double out = 0;
  for (const BodyStep& step : body.steps) out = std::max(out, step.draw);
  return out;
}

}  // namespace

LayerBound::LayerBound(const Job& job) {
  blocks_.all.emplace_back();
  for (const JobLayer& kind : job_layers(job)) blocks_.all.push_back(shard_kept_layer(job, kind));
  blocks_.all.emplace_back();
  for (const LayerBlocks& layer : layer_blocks(job, blocks_)) layers_.push_back(layer.kept);
}

std::shared_ptr<const LayerBound::Terms> LayerBound::on(const Job& job, const StageCosts& costs, bool energy) {
  const PricePlace place(costs, 1);
  const std::shared_ptr<Clocks> clocks = clocks_on(job, costs, place);
  const double highest = highest_clock(job, costs, *clocks);
  const std::tuple key(place, highest, energy);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  // Prediction modules have kernels of their own: of their jobs' energy nothing is said.
  const bool says_energy = energy && job.model.prediction_layers == 0;
  auto made = std::make_shared<const Terms>(price(job, costs, highest, says_energy ? clocks->lowest : 0));
  const std::lock_guard lock(mutex_);
  return known_.emplace(key, std::move(made)).first->second;
}

// No mix of layers settles at a lower clock than that of the kernel that draws most.
std::shared_ptr<LayerBound::Clocks> LayerBound::clocks_on(const Job& job, const StageCosts& costs,
                                                          const PricePlace& place) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = clocks_.find(place); known != clocks_.end()) return known->second;
  }
  auto made = std::make_shared<Clocks>();
  StageCosts unclocked = costs;
  made->bodies = price_kinds(job, unclocked, 1);
  double draw = 1;
  for (const BlockBodies& kind : made->bodies) {
    draw = std::max({draw, highest_draw(kind.forward), highest_draw(kind.backward)});
  }
  made->lowest = std::min(costs.hardware->hardware.gpu.sustained_share.value, std::pow(draw, -1 / kPowerExponent));
  const std::lock_guard lock(mutex_);
  return clocks_.emplace(place, std::move(made)).first->second;
}

// A mix of layers settles between the clocks that each of them would settle at alone.
double LayerBound::highest_clock(const Job& job, const StageCosts& costs, Clocks& clocks) {
  const GpuSpec& gpu = costs.hardware->hardware.gpu;
  if (job.model.prediction_layers > 0) return std::min(1.0, gpu.sustained_share.value);
  const std::pair recomputed(job.strategy.recompute, job.strategy.recompute_modules.to_ulong());
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = clocks.highest.find(recomputed); known != clocks.highest.end()) return known->second;
  }
  double highest = 0;
  for (std::size_t kind = 0; kind < clocks.bodies.size(); ++kind) {
    const std::vector<bool> again = steps_run_again(job, blocks_.all[kind + 1]);
    highest = std::max(highest, highest_settled_clock(clocks.bodies[kind], gpu, again));
  }
  const std::lock_guard lock(mutex_);
  return clocks.highest.emplace(recomputed, highest).first->second;
}

// Of every kind of layer.
std::vector<BlockBodies> LayerBound::price_kinds(const Job& job, StageCosts& costs, double clock) const {
  costs.kernels.set_clock_share(clock);
  std::vector<BlockBodies> out;
  for (std::size_t kind = 1; kind + 1 < blocks_.all.size(); ++kind) {
    out.push_back(price_block(job, blocks_.all[kind], costs));
  }
  return out;
}

// `lowest`: 0 where nothing is said of energy.
LayerBound::Terms LayerBound::price(const Job& job, StageCosts costs, double highest, double lowest) const {
  const std::vector<BlockBodies> fastest = price_kinds(job, costs, highest);
  std::vector<BlockBodies> thriftiest;
  if (lowest > 0) thriftiest = price_kinds(job, costs, lowest);
  Terms out;
  if (fastest.size() == 1) out.of_each = fastest.front().folded_forward.device + fastest.front().folded_backward.device;
  out.device.push_back(0);
  for (const BlockId layer : layers_) {
    const auto kind = static_cast<std::size_t>(layer - 1);
    const BlockBodies& bodies = fastest[kind];
    out.device.push_back(out.device.back() + bodies.folded_forward.device + bodies.folded_backward.device);
    out.kernels_s += kernels_s(bodies.forward) + kernels_s(bodies.backward);
    if (thriftiest.empty()) continue;
    out.energy_j += thriftiest[kind].folded_forward.energy_j + thriftiest[kind].folded_backward.energy_j;
  }
  return out;
}

double LayerBound::min_state(const Job& job) const {
  double min = std::numeric_limits<double>::infinity();
  for (std::size_t kind = 1; kind + 1 < blocks_.all.size(); ++kind) {
    ChunkPlan one;
    one.append(static_cast<BlockId>(kind));
    const MemoryUse state = sharded_state(job, StageContents(job, blocks_, 0, {one}));
    min = std::min(min, state.parameters + state.gradients + state.optimizer);
  }
  return min;
}

double LayerBound::min_kept() const {
  double min = std::numeric_limits<double>::infinity();
  for (std::size_t kind = 1; kind + 1 < blocks_.all.size(); ++kind) {
    min = std::min(min, blocks_.all[kind].kept_bytes);
  }
  return min;
}

}  // namespace mirfak
