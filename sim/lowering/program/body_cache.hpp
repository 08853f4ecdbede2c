#pragma once

#include "program/blocks_of_job.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace mirfak {

struct StagePlan;

// Bounds of the share of the full clock at which devices settle if they run some blocks again and again. No mix of
// blocks settles above the largest `highest` of its parts, or below the least `without_waiting` of its parts.
struct ClockBounds {
  double highest = 1;
  double without_waiting = 1;
};

// The bodies of all blocks, indexed by BlockId, at the clocks that the devices settle at. Layers run at `clock_share`;
// the ends of the model (embedding, head) run no faster than they would by themselves. So no part of an iteration draws
// more power than the limit.
struct PricedBodies {
  double clock_share = 1;
  std::shared_ptr<const std::vector<BlockBodies>> bodies;
};

// Properties that distinguish the hardware of a stage's replicas from other hardware.
struct StageHardware {
  explicit StageHardware(const NodeSpec& spec);

  std::string node;
  int entry = 0;
  std::string network;
  std::string scale_up;
  std::string topology;  // name of the file, if there is one
  int gpus = 0;
  int ports = 0;
  int scale_up_domain = 0;
  double clock_hz = 0;

  friend auto operator<=>(const StageHardware&, const StageHardware&) = default;
};

// Inputs, other than the clock, that the prices of blocks depend on: the hardware, the clock limit, and the placement
// of the groups that blocks communicate in. Key of every cache of prices of blocks.
struct PricePlace {
  PricePlace(const StageCosts& costs, double limit);

  StageHardware hardware;
  double clock_limit = 1;
  CommunicationGroup tensor;
  CommunicationGroup context;
  CommunicationGroup heads;
  CommunicationGroup expert;

  friend auto operator<=>(const PricePlace&, const PricePlace&) = default;
};

// Prices each block once for all stages and all jobs for which it costs the same. These jobs have the same model,
// training, framework and fabric, the same `blocks`, and strategies that shard blocks alike; they may differ in
// pipeline and data sizes, schedule, number of recomputed layers, overlap between replicas and number of nodes.
// Schedules that split or pair backward passes need blocks that say so. Several threads may use the cache at once.
class BodyCache {
 public:
  // Content that the cache keeps of bodies: steps and folds, or only folds, which are enough to lower passes.
  enum class Keep : std::uint8_t { steps, folds };
  explicit BodyCache(Keep keep = Keep::steps) : keep_(keep) {}

  // Returns this cache, or, if it keeps no steps, a second cache that does: for the few strategies that need steps.
  BodyCache& with_steps();
  bool keeps_steps() const { return keep_ == Keep::steps; }

  // Prices the blocks for a plan. `plan.costs` and `costs` below are at the full clock. Two threads that ask for the
  // same prices at once may both compute them, with one result.
  PricedBodies price(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan, double clock_limit);
  // Prices the blocks at a clock that devices would settle at in layers.
  PricedBodies price_at(const Job& job, const ShardedBlocks& blocks, const StageCosts& costs, double settled_clock,
                        double clock_limit);

  // Returns the share of the full clock at which devices settle that run these layers (LayerMix in settled_clock.hpp).
  // It is the same under any limit of the clock.
  using Mix = std::vector<std::pair<BlockId, int>>;
  double clock_at(const Job& job, const ShardedBlocks& blocks, Mix layers, const StageCosts& costs);
  // Returns bounds of this clock, which take one pricing of the layers; the clock itself takes up to three.
  ClockBounds clock_bounds_at(const Job& job, const ShardedBlocks& blocks, Mix layers, const StageCosts& costs);

 private:
  Keep keep_;
  std::mutex mutex_;
  std::unique_ptr<BodyCache> with_steps_;
  // A clock also depends on the job's schedule: whether the schedule splits backward passes, and whether it pairs
  // passes.
  using ClockKey = std::tuple<PricePlace, Mix, bool, bool>;
  std::map<ClockKey, double> clocks_;
  std::map<ClockKey, ClockBounds> clock_bounds_;
  template <typename Clock, typename Make>
  Clock known(std::map<ClockKey, Clock>& all, const Job& job, Mix layers, const StageCosts& costs, const Make& make);
  // Bodies depend on the settled clock, and on whether they leave exchanges of experts to be merged with another pass
  // or hide them.
  using BodiesKey = std::tuple<PricePlace, double, bool>;
  std::map<BodiesKey, std::shared_ptr<const std::vector<BlockBodies>>> bodies_;
};

}  // namespace mirfak
