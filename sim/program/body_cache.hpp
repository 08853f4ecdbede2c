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

// At which shares of the full clock devices settle that run some blocks again and again.
struct SettledClock {
  double share = 1;  // with what they wait between kernels
  // No mix of blocks settles above the largest `highest` of its parts, nor below the least `without_waiting`.
  double highest = 1;
  double without_waiting = 1;
};

// The bodies of all blocks, indexed by BlockId, at the clocks that the devices settle at: layers at `clock_share`, the
// ends of the model (embedding, head) no higher than they would by themselves, so that no part of an iteration draws
// more than the limit.
struct PricedBodies {
  double clock_share = 1;
  std::shared_ptr<const std::vector<BlockBodies>> bodies;
};

// What tells the hardware of a stage's replicas apart.
struct StageHardware {
  explicit StageHardware(const NodeSpec& spec);

  std::string node;
  int entry = 0;
  std::string network;
  std::string scale_up;
  std::string topology;  // the file, if any
  int gpus = 0;
  int ports = 0;
  int scale_up_domain = 0;
  double clock_hz = 0;

  friend auto operator<=>(const StageHardware&, const StageHardware&) = default;
};

// What the prices of blocks depend on beside the clock: the hardware, the clock limit, and where the groups lie that
// blocks communicate in. The key of every cache of such prices.
struct PricePlace {
  PricePlace(const StageCosts& costs, double limit);

  StageHardware hardware;
  double clock_limit = 1;
  CommunicationGroup tensor;
  CommunicationGroup context;
  CommunicationGroup expert;

  friend auto operator<=>(const PricePlace&, const PricePlace&) = default;
};

// Prices each block once for all stages, and all jobs, for which it costs the same. Such jobs have the same model,
// training, framework and fabric, strategies that shard blocks alike, and the same `blocks`; pipeline and data sizes,
// schedule, the number of recomputed layers and what is overlapped between replicas may differ, and so may the number
// of nodes. Schedules that split backward passes or pair them need blocks that say so. May be used by several threads
// at once.
class BodyCache {
 public:
  // What to keep of bodies: steps too, or only what they fold to, which is enough to lower passes.
  enum class Keep : std::uint8_t { steps, folds };
  explicit BodyCache(Keep keep = Keep::steps) : keep_(keep) {}

  // This cache, or where it keeps no steps one beside it that does: for the few strategies that need them.
  BodyCache& with_steps();
  bool keeps_steps() const { return keep_ == Keep::steps; }

  // `plan.costs` are at the full clock, here and below. Two threads that ask for the same at once may both price it,
  // with one result.
  PricedBodies price(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan, double clock_limit);
  // At a clock that devices would settle at in layers.
  PricedBodies price_at(const Job& job, const ShardedBlocks& blocks, const StageCosts& costs, double settled_clock,
                        double clock_limit);

  // Of devices that run these layers (LayerMix in settled_clock.hpp).
  using Mix = std::vector<std::pair<BlockId, int>>;
  SettledClock clock_at(const Job& job, const ShardedBlocks& blocks, Mix layers, const StageCosts& costs,
                        double clock_limit);

 private:
  Keep keep_;
  std::mutex mutex_;
  std::unique_ptr<BodyCache> with_steps_;
  // A clock depends on the job's schedule, too: whether it splits backward passes, and whether it pairs passes.
  using ClockKey = std::tuple<PricePlace, Mix, bool, bool>;
  std::map<ClockKey, SettledClock> clocks_;
  std::map<std::pair<PricePlace, double>, std::shared_ptr<const std::vector<BlockBodies>>> bodies_;
};

}  // namespace mirfak
