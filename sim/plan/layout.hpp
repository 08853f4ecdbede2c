#pragma once

#include "plan/pipeline_choice.hpp"
#include "plan/strategy_space.hpp"
#include "program/blocks_of_job.hpp"
#include "program/body_cache.hpp"
#include "program/replica_classes.hpp"

#include <memory>
#include <vector>

namespace mirfak {

// The groups of ranks that strategies of one layout share, and what hardware and links their stages have. Of each stage
// and class of replicas, as StagePlans are indexed: class c of C on stage s at s * C + c.
struct LayoutCosts {
  // `strategy`: sizes of groups; what else it says does not matter. Error(infeasible) where a team of ranks lies on
  // several types of nodes.
  LayoutCosts(Job of, const Strategy& strategy);

  int count() const { return static_cast<int>(classes.size()); }
  std::size_t place(int stage, int replica_class) const {
    return static_cast<std::size_t>(stage) * classes.size() + static_cast<std::size_t>(replica_class);
  }

  Job job;                    // with `strategy`, its state sharded over all replicas
  std::vector<int> shape_of;  // of each stage the number of its shape, by their first stages; 0 where all are alike
  std::vector<ReplicaClass> classes;  // where stages have shapes of their own, one, of those with most replicas
  std::vector<StageCosts> costs;      // as sharded states need them, which is enough for all
  std::vector<int> kind_of;           // those of one kind have the same hardware and links
  std::vector<std::size_t> first_of_kind;
  std::vector<int> hardware_of;  // of each stage: equal for stages of one shape whose classes have the same hardware

 private:
  static std::vector<int> number_shapes(const Strategy& strategy);
  std::vector<StageHardware> add_costs(int stage);
};

// Null where a team of ranks would lie on several types of nodes.
std::shared_ptr<const LayoutCosts> layout_costs(const Job& job, const Cluster& cluster, const Strategy& strategy);

// The sizes of groups that a stage's ranks can form: tensor, context and expert of `space.others`.
std::vector<Strategy> group_sizes(const StrategySpace& space);

// What the blocks of a layout can be: micro batch, sequence parallelism, overlap, recomputation, and whether parameters
// are gathered in every pass. No two choices mean the same.
std::vector<Strategy> block_choices(const StrategySpace& space, const Strategy& layout, const Framework& framework);

// Every way to divide the cluster into groups: the strategies of a space, others of `space` as they are, with data
// parallelism over what is left of the GPUs; first those whose stages are alike, then the others (StageShapes).
std::vector<Strategy> layouts(const StrategySpace& space, const Cluster& cluster);

}  // namespace mirfak
