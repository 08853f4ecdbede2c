#pragma once

#include "plan/pipeline_choice.hpp"
#include "plan/strategy_space.hpp"
#include "program/blocks_of_job.hpp"
#include "program/body_cache.hpp"
#include "program/replica_classes.hpp"

#include <memory>
#include <vector>

namespace mirfak {

// Groups of ranks that the strategies of one layout share, and the hardware and links of their stages. Values exist for
// each place, indexed as StagePlans are: class c of C on stage s is at s * C + c.
struct LayoutCosts {
  // `strategy` gives the sizes of groups, and the channels of collectives; its other fields do not matter.
  // Error(infeasible) if a team of ranks lies on several types of nodes.
  LayoutCosts(Job of, const Strategy& strategy);

  int count() const { return static_cast<int>(classes.size()); }
  std::size_t place(int stage, int replica_class) const {
    return static_cast<std::size_t>(stage) * classes.size() + static_cast<std::size_t>(replica_class);
  }

  Job job;                            // with `strategy`; its state is sharded over all replicas
  std::vector<int> shape_of;          // number of each stage's shape, by their first stages; 0 if all are alike
  std::vector<ReplicaClass> classes;  // if stages have shapes of their own: one class, of those with most replicas
  std::vector<StageCosts> costs;      // by place, for sharded states, which is enough for all states
  std::vector<int> kind_of;           // by place; places of one kind have the same hardware and links
  std::vector<std::size_t> first_of_kind;
  std::vector<int> hardware_of;  // for each stage: equal if shape and hardware of all classes are equal

 private:
  static std::vector<int> number_shapes(const Strategy& strategy);
  std::vector<StageHardware> add_costs(int stage);
};

// Returns the costs of a layout; null if a team of ranks would lie on several types of nodes.
std::shared_ptr<const LayoutCosts> layout_costs(const Job& job, const Cluster& cluster, const Strategy& strategy);

// Returns the sizes of groups that a stage's ranks can form: tensor, context and expert sizes; the rest is
// `space.others`.
std::vector<Strategy> group_sizes(const StrategySpace& space);

// Returns the choices of blocks of a layout: micro batch, sequence parallelism, overlap, recomputation, and gathering
// of parameters in every pass or not. No two choices mean the same.
std::vector<Strategy> block_choices(const StrategySpace& space, const Strategy& layout, const Framework& framework);

// Returns every way to divide the cluster into groups: strategies of a space with the other fields of `space.others`,
// and with data parallelism over the rest of the GPUs; first those whose stages are alike, then the others
// (StageShapes).
std::vector<Strategy> layouts(const StrategySpace& space, const Cluster& cluster);

}  // namespace mirfak
