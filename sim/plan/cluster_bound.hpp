#pragma once

#include "plan/shared_blocks.hpp"
#include "plan/strategy_space.hpp"

#include <map>
#include <mutex>
#include <string>

namespace mirfak {

// What no strategy on a cluster can be below: each GPU at the highest rate that any choice of blocks has on its type
// when it waits for nothing, neither the network nor other stages. May be used by several threads at once.
class ClusterBound {
 public:
  ClusterBound(const Job& job, const StrategySpace& space, SharedBlocks& shared);

  double seconds(const Cluster& cluster);

 private:
  double gpu_seconds_per_sequence(const NodeGroup& group);

  const Job& job_;
  const StrategySpace& space_;
  SharedBlocks& shared_;
  std::mutex mutex_;
  std::map<std::string, double> of_type_;
};

}  // namespace mirfak
