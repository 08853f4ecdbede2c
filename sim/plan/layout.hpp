#pragma once

#include "plan/strategy_space.hpp"
#include "program/blocks_of_job.hpp"

#include <memory>
#include <vector>

namespace mirfak {

// The groups of ranks that strategies of one layout share, and what hardware and links their stages have.
struct LayoutCosts {
  // `strategy`: sizes of groups; what else it says does not matter.
  LayoutCosts(Job of, const Strategy& strategy);

  Job job;                         // with `strategy`, its state sharded over all replicas
  std::vector<StageCosts> stages;  // as sharded states need them, which is enough for all
  std::vector<int> kind_of;        // of each stage: stages of one kind have the same hardware and links
  std::vector<int> first_of_kind;
};

// Every way to divide the cluster into groups, each stage on one type of node: the strategies of a space, others of
// `space` as they are, with data parallelism over what is left of the GPUs.
std::vector<Strategy> layouts(const StrategySpace& space, const Cluster& cluster);

}  // namespace mirfak
