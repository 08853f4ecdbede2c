#pragma once

#include "program/blocks_of_job.hpp"
#include "program/body_cache.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

namespace mirfak {

// Whether a bound is to say anything of energy, and for which clocks.
struct EnergyAsked {
  bool any = false;
  double lowest =
      1;  // share of the clocks that nodes are limited to (NodeHardware::clock_limit) down to which they may be set

  friend auto operator<=>(const EnergyAsked&, const EnergyAsked&) = default;
};

// Least energy of passes whose devices settle somewhere between two clocks, on nodes that may be limited to one.
class EnergyRange {
 public:
  EnergyRange(const NodeHardware& node, double limit, double lowest, double highest);
  // Of both passes, above that of waiting, priced at both clocks and this limit.
  double least(const BlockBodies& at_lowest, const BlockBodies& at_highest) const;

 private:
  double blocked_w_ = 0;
  bool set_ = false;
  double share_ = 1;
};

// The least of what `energy_at` says of a limit of clocks, over those that are asked for. Between two limits a few
// percent apart energy is at most a thousandth below the lower end: near its least, where it need not rise with the
// clock, it changes by some two squares of what the clock does.
template <typename EnergyAt>
double least_over(const EnergyAsked& asked, double limit, const EnergyAt& energy_at) {
  constexpr double kBetween = 1 - 1e-3;
  const double highest = energy_at(limit);
  return asked.lowest == 1 ? highest : kBetween * std::min(highest, energy_at(limit * asked.lowest));
}

// What the layers of a model take and hold at least, however many of them are recomputed as the strategy says: the
// least that any strategy with such blocks needs, at far less work than pricing all blocks. May be used by several
// threads at once.
class LayerBound {
 public:
  // Of one device and one microbatch, forward and backward.
  struct Terms {
    std::vector<Picoseconds> device;  // of all layers before each one, and of all
    Picoseconds of_each = 0;          // where all layers take as long; else 0
    double energy_j = 0;              // of all layers, above that of waiting
    double kernels_s = 0;             // of all layers, the compute stream alone

    Picoseconds of(const LayerRange& layers) const {
      const auto first = static_cast<std::size_t>(layers.first);
      return device[first + static_cast<std::size_t>(layers.count)] - device[first];
    }
  };

  explicit LayerBound(const Job& job);
  // `job`: one for which these layers are sharded alike. Times at the highest clock that devices settle at; with
  // `energy`, the least energies, else 0.
  std::shared_ptr<const Terms> on(const Job& job, const StageCosts& costs, const EnergyAsked& energy);
  // Bytes of parameters, gradients and optimizer state that a layer adds to its stage at least.
  double min_state(const Job& job) const;
  // Bytes that a layer keeps of each microbatch for its backward pass, at least.
  double min_kept() const;

 private:
  // What is recomputed of a layer that is.
  using Recomputed = std::pair<Recompute, unsigned long>;
  // The highest clock where at least this share of the layers is recomputed, and at most that of the next span. The
  // more are, the less a device may draw for all of them, and the higher is the clock, but the more work there is.
  struct Span {
    double share = 0;
    double clock = 1;
  };
  // What a place's bodies say at the full clock.
  struct Clocks {
    std::map<Recomputed, std::vector<Span>> highest;
    std::vector<BlockBodies> bodies;  // of each kind
  };
  std::shared_ptr<Clocks> clocks_on(const Job& job, const StageCosts& costs, const PricePlace& place);
  double lowest_clock(const Job& job, const StageCosts& costs, const Clocks& clocks) const;
  std::vector<Span> highest_clocks(const Job& job, const StageCosts& costs, Clocks& clocks);
  std::vector<Span> spans_of(const Job& job, const GpuSpec& gpu, const Clocks& clocks) const;
  Terms price(const Job& job, StageCosts costs, const std::vector<Span>& spans) const;
  double least_energy(const Job& job, StageCosts costs, double lowest, double highest, double limit) const;
  void add_times(const Job& job, const std::vector<BlockBodies>& bodies, double share, Terms& out) const;
  std::vector<BlockBodies> price_kinds(const Job& job, StageCosts& costs, double clock, double limit) const;

  // Each kind of layer; embedding and head are empty.
  ShardedBlocks blocks_;
  std::vector<BlockId> layers_;
  std::mutex mutex_;
  std::map<PricePlace, std::shared_ptr<Clocks>> clocks_;
  std::map<std::tuple<PricePlace, Recomputed, EnergyAsked>, std::shared_ptr<const Terms>> known_;
};

}  // namespace mirfak
