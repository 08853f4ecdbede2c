#pragma once

#include "base/made_once.hpp"
#include "plan/state_choice.hpp"
#include "program/blocks_of_job.hpp"
#include "program/body_cache.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
#include <compare>
#include <functional>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace mirfak {

// Request for bounds of energy, and the clocks for which they hold.
struct EnergyAsked {
  bool any = false;
  // Lower clocks that all nodes may be set to instead of their own clocks, as shares of the highest clocks of their
  // GPUs, the highest first.
  std::vector<double> lower = {};

  friend auto operator<=>(const EnergyAsked&, const EnergyAsked&) = default;
};

// Returns the clock that limits a node (NodeHardware::clock_limit) whose GPUs are set to a share of their highest
// clock, but no higher than they are set already.
double clock_limit_at(const NodeHardware& node, double share);

// Returns the least energy of both passes of a block above that of waiting, if its device settles at a clock between
// two given ones, on a node that may be limited to a clock. The bodies are priced at the two clocks and this limit.
double least_energy_between(const NodeHardware& node, double limit, double lowest, double highest,
                            const BlockBodies& at_lowest, const BlockBodies& at_highest);

// Returns the least `energy_at(limit)` over the limits of a node's clock that are asked for. Between two limits, energy
// is below the lower of its two ends by no more than near its minimum, where energy need not rise with the clock: there
// its relative change is about twice the square of the clock's, and the farther end is half the distance away or more.
template <typename EnergyAt>
double least_over(const EnergyAsked& asked, const NodeHardware& node, const EnergyAt& energy_at) {
  constexpr double kCurvature = 2.5;
  const double highest = energy_at(node.clock_limit());
  if (asked.lower.empty()) return highest;
  const double lowest_limit = clock_limit_at(node, asked.lower.back());
  const double half = (1 - lowest_limit / node.clock_limit()) / 2;
  return (1 - kCurvature * half * half) * std::min(highest, energy_at(lowest_limit));
}

// Least time, energy and memory of the layers of a model, for any number of layers recomputed as the strategy says: a
// lower bound for all strategies with such blocks, at far less work than pricing all blocks. May be used by several
// threads at once.
class LayerBound {
 public:
  // Terms of one device and one microbatch, forward and backward.
  struct Terms {
    std::vector<Picoseconds> device;  // sums over all layers before each layer, and over all layers
    Picoseconds of_each = 0;          // time of each layer if all layers take equally long; else 0
    double energy_j = 0;              // all layers, above that of waiting
    double kernels_s = 0;             // all layers, compute stream alone

    Picoseconds of(const LayerRange& layers) const {
      const auto first = static_cast<std::size_t>(layers.first);
      return device[first + static_cast<std::size_t>(layers.count)] - device[first];
    }
  };

  explicit LayerBound(const Job& job);
  // Returns the terms on a stage's hardware. `job`: a job for which these layers are sharded alike. Times are at the
  // highest clock at which devices settle; energies are the least ones if `energy` asks for them, else 0.
  std::shared_ptr<const Terms> on(const Job& job, const StageCosts& costs, const EnergyAsked& energy);
  // Least bytes of parameters, gradients and optimizer state that a layer adds to its stage, in the best of `choices`.
  double min_state(Job job, std::span<const StateChoice> choices) const;
  // Least bytes that a layer keeps of each microbatch for its backward pass. The result is 0 unless all pipelines are
  // plain (`plain`, see PipelineChoice) and nothing is recomputed or offloaded.
  double min_kept(const Strategy& strategy, bool plain) const;

 private:
  // Parts of a layer that are recomputed: the kind of recomputation and the bits of its modules.
  using Recomputed = std::pair<Recompute, unsigned long>;
  // Highest clock if at least `share` of the layers is recomputed, and at most the share of the next span. The more
  // layers are recomputed, the less a device may draw over all of them and the higher is its clock, but the more work
  // there is.
  struct Span {
    double share = 0;
    double clock = 1;
  };
  using Bodies = std::vector<BlockBodies>;       // for each kind of layer
  using Marks = std::vector<std::vector<bool>>;  // for each kind of layer: the forward steps that run again
  Marks marks_of(const Job& job, const Bodies& bodies) const;
  static double lowest_clock(const GpuSpec& gpu, const Bodies& bodies, const Marks& again);
  static std::vector<Span> highest_clocks(const Job& job, const GpuSpec& gpu, const Bodies& bodies, const Marks& again);
  // The bodies of every kind of layer at a clock that devices settle at, on a node that is limited to a clock.
  using PriceAt = std::function<const Bodies&(double clock, double limit)>;
  Terms price(const Job& job, const NodeHardware& node, const std::vector<Span>& spans, const PriceAt& at) const;
  double least_energy(const NodeHardware& node, double lowest, double highest, double limit, const PriceAt& at) const;
  Terms times_of(const Bodies& bodies, const Marks& again, double share) const;
  Bodies price_kinds(const Job& job, StageCosts& costs, double clock, double limit) const;

  // One block for each kind of layer; embedding and head are empty.
  ShardedBlocks blocks_;
  std::vector<BlockId> layers_;
  MadeOnce<PricePlace, Bodies> full_clock_;  // bodies at the full clock, from which the clocks that are held follow
  MadeOnce<std::pair<PricePlace, Recomputed>, std::vector<Span>> spans_;
  MadeOnce<std::tuple<PricePlace, Recomputed, EnergyAsked>, std::shared_ptr<const Terms>> known_;
};

}  // namespace mirfak
