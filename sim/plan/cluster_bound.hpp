#pragma once

#include "plan/candidate_clusters.hpp"
#include "plan/shared_blocks.hpp"
#include "plan/strategy_space.hpp"
#include "plan/work_division.hpp"
#include "program/block_hardware.hpp"

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

namespace mirfak {

// What no strategy on a cluster can be below: each GPU at the highest rate that a choice of blocks has on its type when
// it waits for nothing, neither other nodes nor other stages, and with the least energy. May be used
// by several threads at once.
class ClusterBound {
 public:
  // `energy`: whether energies are asked for; else they are 0.
  ClusterBound(const Job& job, const StrategySpace& space, SharedBlocks& shared, bool energy);

  // What an iteration needs at least, in any layout or in one with these sizes of groups.
  struct Least {
    double seconds = 0;            // infinite: no choice of blocks runs on some of the nodes
    double working_j = 0;          // above waiting
    std::vector<WorkPlace> types;  // that share the sequences
  };
  // Of so many nodes of each type of the job's cluster.
  Least least(const NodeCounts& counts);
  // Types on which nothing of the space runs, and why; of those asked for so far.
  std::vector<LeftOut> left_out();
  Least least(const NodeCounts& counts, const Strategy& layout);
  // With one choice of blocks: the `choice`-th of block_choices().
  Least least(const NodeCounts& counts, const Strategy& layout, std::size_t choice);

 private:
  // Of one GPU.
  struct PerSequence {
    double seconds = 0;
    double joules = 0;
  };
  using Sizes = std::tuple<int, int, int, int>;  // tensor, context, expert, expert_tensor
  struct OfSizes {
    PerSequence any;
    std::vector<PerSequence> with;  // each choice of blocks
  };
  struct OfType {
    PerSequence any;
    std::map<Sizes, OfSizes> in;
    std::string reason;  // why there is none
  };
  static Sizes sizes_of(const Strategy& layout);
  const std::vector<const OfType*>& of_types(const NodeCounts& counts);
  const OfType& of_type(const NodeCounts& counts, std::size_t type);
  void rate(OfType& out, const Job& job);
  OfSizes of_sizes(const Job& job, const Strategy& sizes);
  PerSequence of_blocks(const Job& job, const Strategy& choice);
  template <typename Pick>
  Least with(const NodeCounts& counts, const Pick& pick);

  const Job& job_;
  const StrategySpace& space_;
  SharedBlocks& shared_;
  bool energy_;
  bool plain_;  // no communication of a pass hides behind another
  std::mutex mutex_;
  std::map<std::pair<std::string, BlockHardware>, OfType> of_type_;
  std::map<std::vector<bool>, std::vector<const OfType*>> of_types_;  // by which are used
};

}  // namespace mirfak
