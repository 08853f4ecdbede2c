#pragma once

#include "program/blocks_of_job.hpp"

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

// The bodies of all blocks, indexed by BlockId, at the clock that the devices settle at.
struct PricedBodies {
  double clock_share = 1;
  std::shared_ptr<const std::vector<BlockBodies>> bodies;
};

// Prices each block once for all stages, and all jobs, for which it costs the same. Such jobs have the same model,
// training, framework and fabric, strategies that shard blocks alike, and the same `blocks`; pipeline and data sizes,
// schedule, the number of recomputed layers and what is overlapped between replicas may differ, and so may the number
// of nodes. May be used by several threads at once.
class BodyCache {
 public:
  // What to keep of bodies: steps too, or only what they fold to, which is enough to lower passes.
  enum class Keep : std::uint8_t { steps, folds };
  explicit BodyCache(Keep keep = Keep::steps) : keep_(keep) {}

  // What prices depend on beside the clock: the node type, the clock limit, and where the groups lie that blocks
  // communicate in.
  using Group = std::tuple<int, int, int, int, int, bool>;
  using Node = std::tuple<std::string, std::string, int, int, int>;
  using Place = std::tuple<Node, double, Group, Group, Group>;
  static Place place_of(const StageCosts& costs, double clock_limit);
  static Node node_of(const StageCosts& costs);

  // `plan.costs` are at the full clock. Two threads that ask for the same at once may both price it, with one result.
  PricedBodies price(const Job& job, const ShardedBlocks& blocks, const StagePlan& plan, double clock_limit);
  // At a clock that devices would settle at.
  PricedBodies price_at(const Job& job, const ShardedBlocks& blocks, const StageCosts& costs, double settled_clock,
                        double clock_limit);

  // The share of the full clock at which devices settle that run these layers (LayerMix in settled_clock.hpp).
  using Mix = std::vector<std::pair<BlockId, int>>;
  double clock_at(const Job& job, const ShardedBlocks& blocks, Mix layers, const StageCosts& costs, double clock_limit);

 private:
  Keep keep_;
  std::mutex mutex_;
  std::map<std::pair<Place, Mix>, double> clocks_;
  std::map<std::pair<Place, double>, std::shared_ptr<const std::vector<BlockBodies>>> bodies_;
};

}  // namespace mirfak
