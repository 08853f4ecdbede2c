#include "plan/layer_bound.hpp"

#include "cost/power_limit.hpp"
#include "program/settled_clock.hpp"
#include "program/sharded_state.hpp"
#include "program/stage_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace mirfak {

namespace {

Picoseconds kernels(const Body& body) {
  Picoseconds sum = 0;
  for (const BodyStep& step : body.steps) sum += step.stream == StreamKind::compute ? step.device : 0;
  return sum;
}

// Returns the time of some of a body's kernels, without the time that these kernels wait.
Picoseconds kernels(const Body& body, const std::vector<bool>& some) {
  Picoseconds sum = 0;
  for (std::size_t i = 0; i < some.size(); ++i) {
    const BodyStep& step = body.steps[i];
    sum += some[i] && step.stream == StreamKind::compute ? step.device - step.held : 0;
  }
  return sum;
}

Picoseconds device(const BlockBodies& bodies) { return bodies.folded_forward.device + bodies.folded_backward.device; }

// True if devices also run kernels of layers that no bound prices: prediction modules, or passes that only go forward.
// The clock may then be any, and energy is not bounded.
bool has_other_layers(const Job& job) {
  return job.model.prediction_layers > 0 || job.training.preferences.runs_forward_only();
}

}  // namespace

// Nodes without a limit need more energy the higher they settle, up to the clock to which they are set. If they settle
// at s above that clock, the part of the draw that depends on the clock changes as s^x / D(s), with D the draw of
// clock_power, and the other part as 1 / D(s) (energy_above_waiting_j). The latter falls; the former rises and then
// falls, so it is least at one of its ends. This holds for the whole draw of kernels, waiting included; kernels are
// busy no longer than the passes take.
double least_energy_between(const NodeHardware& node, double limit, double lowest, double highest,
                            const BlockBodies& at_lowest, const BlockBodies& at_highest) {
  const double lowest_j = at_lowest.folded_forward.energy_j + at_lowest.folded_backward.energy_j;
  if (limit >= highest) return lowest_j;
  const auto draw = [&](double clock) { return std::pow(clock, kPowerExponent) / node.gpu.clock_power.draw(clock); };
  const double share = std::min(1.0, draw(std::max(lowest, limit)) / draw(highest));
  const FoldedBody& forward = at_highest.folded_forward;
  const FoldedBody& backward = at_highest.folded_backward;
  const double waiting_j = node.gpu.blocked_w.value * to_seconds(forward.device + backward.device);
  return std::min(lowest_j, share * (forward.energy_j + backward.energy_j) - (1 - share) * waiting_j);
}

double clock_limit_at(const NodeHardware& node, double share) {
  return std::min(node.clock_limit(), node.gpu.settable_clock_hz(share) / node.gpu.clock_max_hz.value);
}

LayerBound::LayerBound(const Job& job) {
  blocks_.all.emplace_back();
  for (const JobLayer& kind : job_layers(job)) blocks_.all.push_back(shard_kept_layer(job, kind));
  blocks_.all.emplace_back();
  for (const LayerBlocks& layer : layer_blocks(job, blocks_)) layers_.push_back(layer.kept);
}

std::shared_ptr<const LayerBound::Terms> LayerBound::on(const Job& job, const StageCosts& costs,
                                                        const EnergyAsked& energy) {
  const NodeHardware& node = costs.hardware->hardware;
  const PricePlace place(costs, node.clock_limit());
  const Recomputed recomputed(job.strategy.recompute, job.strategy.recompute_modules.to_ulong());
  return known_.get({place, recomputed, energy}, [&] {
    StageCosts clocked = costs;
    const Bodies& full = full_clock_.get(place, [&] { return price_kinds(job, clocked, 1, 1); });
    const Marks again = marks_of(job, full);
    const std::vector<Span>& spans =
        spans_.get({place, recomputed}, [&] { return highest_clocks(job, node.gpu, full, again); });
    std::map<std::pair<double, double>, Bodies> priced;
    const PriceAt at = [&](double clock, double limit) -> const Bodies& {
      if (clock == 1 && limit == 1) return full;
      const auto [known, is_new] = priced.try_emplace({clock, limit});
      if (is_new) known->second = price_kinds(job, clocked, clock, limit);
      return known->second;
    };
    Terms terms = price(job, node, spans, at);
    if (energy.any && !has_other_layers(job)) {
      const double lowest = lowest_clock(node.gpu, full, again);
      double highest = lowest;
      for (const Span& span : spans) highest = std::max(highest, span.clock);
      terms.energy_j =
          least_over(energy, node, [&](double limit) { return least_energy(node, lowest, highest, limit, at); });
    }
    return std::make_shared<const Terms>(std::move(terms));
  });
}

LayerBound::Marks LayerBound::marks_of(const Job& job, const Bodies& bodies) const {
  Marks out;
  for (std::size_t kind = 0; kind < bodies.size(); ++kind) {
    out.push_back(steps_run_again(job, blocks_.all[kind + 1], bodies[kind]));
  }
  return out;
}

// A mix of layers settles no lower than the lowest of the clocks at which each layer would settle alone.
double LayerBound::lowest_clock(const GpuSpec& gpu, const Bodies& bodies, const Marks& again) {
  double lowest = 1;
  for (std::size_t kind = 0; kind < bodies.size(); ++kind) {
    lowest = std::min(lowest, lowest_settled_clock(bodies[kind], gpu, again[kind]));
  }
  return lowest;
}

// A mix of layers settles between the clocks at which each layer would settle alone. If there are several kinds of
// layers, any share of each kind may be recomputed.
std::vector<LayerBound::Span> LayerBound::highest_clocks(const Job& job, const GpuSpec& gpu, const Bodies& bodies,
                                                         const Marks& again) {
  constexpr int kSpans = 8;
  if (has_other_layers(job)) return {{0, std::min(1.0, gpu.sustained_share.value)}};
  const bool waits = std::any_of(bodies.begin(), bodies.end(), [](const BlockBodies& kind) {
    return kind.folded_forward.host_waits() || kind.folded_backward.host_waits();
  });
  const auto highest = [&](std::size_t kind, double from, double to) {
    return highest_settled_clock(bodies[kind], gpu, {again[kind], from, to, waits});
  };
  if (bodies.size() > 1) {
    double of_all = 0;
    for (std::size_t kind = 0; kind < bodies.size(); ++kind) of_all = std::max(of_all, highest(kind, 0, 1));
    return {{0, of_all}};
  }
  std::vector<Span> spans;
  for (int i = 0; i < kSpans; ++i) {
    const double from = static_cast<double>(i) / kSpans;
    const double clock = highest(0, from, static_cast<double>(i + 1) / kSpans);
    // More work takes longer at an equal clock.
    if (spans.empty() || clock > spans.back().clock) spans.push_back({from, clock});
  }
  return spans;
}

// Returns the bodies of every kind of layer at a clock.
LayerBound::Bodies LayerBound::price_kinds(const Job& job, StageCosts& costs, double clock, double limit) const {
  costs.kernels.set_clock_share(clock, limit);
  Bodies out;
  for (std::size_t kind = 1; kind + 1 < blocks_.all.size(); ++kind) {
    out.push_back(price_block(job, blocks_.all[kind], costs));
  }
  return out;
}

// Returns the times of layers at some clock, with this share of them recomputed.
LayerBound::Terms LayerBound::times_of(const Bodies& bodies, const Marks& again, double share) const {
  std::vector<Picoseconds> of_kind;
  std::vector<double> kernels_of_kind;
  for (std::size_t kind = 0; kind < bodies.size(); ++kind) {
    const auto all_again = static_cast<double>(kernels(bodies[kind].forward, again[kind]));
    const auto more = static_cast<Picoseconds>(share * all_again);
    of_kind.push_back(device(bodies[kind]) + more);
    kernels_of_kind.push_back(to_seconds(kernels(bodies[kind].forward) + kernels(bodies[kind].backward) + more));
  }
  Terms out;
  if (bodies.size() == 1) out.of_each = of_kind.front();
  out.device.push_back(0);
  for (const BlockId layer : layers_) {
    const auto kind = static_cast<std::size_t>(layer - 1);
    out.device.push_back(out.device.back() + of_kind[kind]);
    out.kernels_s += kernels_of_kind[kind];
  }
  return out;
}

// Each span has its shortest time, and the shortest of all spans counts. A layer's time falls no faster than the clock
// rises (tests/plan/bounds.cpp), so that a span whose clock makes up for the work that its layers run again is rare,
// and others are not priced. Layers in parts, whose steps change places with the clock, are always priced.
LayerBound::Terms LayerBound::price(const Job& job, const NodeHardware& node, const std::vector<Span>& spans,
                                    const PriceAt& at) const {
  constexpr double margin = 1e-3;  // far above the rounding of steps to picoseconds
  const double limit = node.clock_limit();
  const Bodies& first = at(spans.front().clock, limit);
  const Marks again = marks_of(job, first);
  const bool in_parts =
      std::any_of(first.begin(), first.end(), [](const BlockBodies& kind) { return !kind.forward_row.empty(); });
  Terms out = times_of(first, again, spans.front().share);
  for (const Span& span : std::span(spans).subspan(1)) {
    const Terms slower = times_of(first, again, span.share);
    const double faster = spans.front().clock / span.clock * (1 - margin);
    const bool longer = faster * static_cast<double>(slower.device.back()) > static_cast<double>(out.device.back()) &&
                        faster * slower.kernels_s > out.kernels_s;
    if (longer && !in_parts) continue;
    const Bodies& here = at(span.clock, limit);
    Terms times = times_of(here, marks_of(job, here), span.share);
    out.kernels_s = std::min(out.kernels_s, times.kernels_s);
    if (out.device.back() <= times.device.back()) continue;
    out.of_each = times.of_each;
    out.device = std::move(times.device);
  }
  return out;
}

double LayerBound::least_energy(const NodeHardware& node, double lowest, double highest, double limit,
                                const PriceAt& at) const {
  const Bodies& at_lowest = at(lowest, limit);
  const Bodies& at_highest = at(highest, limit);
  double energy_j = 0;
  for (const BlockId layer : layers_) {
    const auto kind = static_cast<std::size_t>(layer - 1);
    energy_j += least_energy_between(node, limit, lowest, highest, at_lowest[kind], at_highest[kind]);
  }
  return energy_j;
}

double LayerBound::min_state(Job job, std::span<const StateChoice> choices) const {
  double min = std::numeric_limits<double>::infinity();
  std::set<std::pair<int, double>> known;  // all that the bytes depend on
  for (const StateChoice& choice : choices) {
    if (!known.emplace(choice.zero, choice.offload_optimizer).second) continue;
    choice.apply_to(job.strategy);
    for (std::size_t kind = 1; kind + 1 < blocks_.all.size(); ++kind) {
      ChunkPlan one;
      one.append(static_cast<BlockId>(kind));
      const MemoryUse state = sharded_state(job, StageContents(job, blocks_, 0, {one}));
      const bool always_there = !job.framework.memory.frees_gradients;
      min = std::min(min, state.parameters + (always_there ? state.gradients : 0) + state.optimizer);
    }
  }
  return min;
}

double LayerBound::min_kept(const Strategy& strategy, bool plain) const {
  const bool offloads = strategy.offload_layers != 0 || strategy.offload_modules.any();
  if (!plain || strategy.recompute != Recompute::none || offloads) return 0;
  double min = std::numeric_limits<double>::infinity();
  for (std::size_t kind = 1; kind + 1 < blocks_.all.size(); ++kind) {
    min = std::min(min, blocks_.all[kind].kept_bytes);
  }
  return min;
}

}  // namespace mirfak
