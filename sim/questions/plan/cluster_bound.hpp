#pragma once

#include "base/made_once.hpp"
#include "plan/candidate_clusters.hpp"
#include "plan/layout_bound.hpp"
#include "plan/shaped_layouts.hpp"
#include "plan/shared_blocks.hpp"
#include "plan/state_choice.hpp"
#include "plan/strategy_space.hpp"
#include "plan/work_division.hpp"
#include "program/block_hardware.hpp"
#include "program/memory_limit.hpp"
#include "strategy/block_fields.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace mirfak {

// Lower bounds for all strategies on a cluster: each GPU runs at the highest rate that any choice of blocks has on its
// type, waits for nothing (neither other nodes nor other stages), and needs the least energy. May be used by several
// threads at once.
class ClusterBound {
 public:
  // `states`: state choices of the space; they must outlive this object. `limit`: what strategies may use of memory.
  // `energy`: energies are computed only if it asks for them; else they are 0.
  ClusterBound(const Job& job, const StrategySpace& space, const StateChoices& states, const MemoryLimit& limit,
               SharedBlocks& shared, const EnergyAsked& energy);

  const EnergyAsked& energy() const { return energy_; }

  // Least time and energy of an iteration, in any layout or in one with given sizes of groups.
  struct Least {
    // Infinite: no choice of blocks runs on some of the nodes.
    double seconds = std::numeric_limits<double>::infinity();
    double working_j = 0;          // energy above that of waiting
    std::vector<WorkPlace> types;  // types that share the sequences
  };
  // Bounds all strategies on `counts` nodes of each type of the job's cluster.
  Least least(const NodeCounts& counts);
  // Returns the types on which nothing of the space runs, with the reasons, among the types asked for so far.
  std::vector<LeftOut> left_out();
  // Bounds a layout by its best choice of blocks among those that may fit in memory, or among all if none may fit.
  Least least(const NodeCounts& counts, const Strategy& layout);
  // Bounds a layout with one choice of blocks: the `choice`-th of block_choices().
  Least least(const NodeCounts& counts, const Strategy& layout, std::size_t choice);
  // Returns the least seconds that a layer takes on each stage for all microbatches, with the types of nodes in one of
  // their orders (in_every_order) or all of them on every stage (spread_over_stages). Stage s with the teams of rates
  // r(i), in microbatches of the whole model per second, runs n(s) of L layers: team i runs m(i) <= T r(i) L / n(s) of
  // the M microbatches in an iteration of T, so n(s) M / L <= T times the sum of r(i). Empty: not known, since stages
  // have shapes of their own, layers differ, stages hold several parts of the model, or ranks are numbered otherwise
  // than stage by stage.
  std::vector<double> layer_seconds(const NodeCounts& counts, const Strategy& layout, std::size_t choice,
                                    std::uint32_t order, bool spread);
  // Returns false if no strategy with these blocks can fit in memory.
  bool may_fit(const NodeCounts& counts, const Strategy& layout, std::size_t choice);

 private:
  // Least time and energy of one sequence on one GPU; infinite if nothing runs.
  struct PerSequence {
    double seconds = std::numeric_limits<double>::infinity();
    double joules = std::numeric_limits<double>::infinity();

    void lower_to(const PerSequence& other);
    WorkPlace on(double gpus) const { return {gpus / seconds, joules}; }
  };
  using Sizes = std::tuple<int, int, int, int>;  // tensor, context, expert, expert_tensor
  struct OfBlocks {
    PerSequence rate;
    Strategy choice;
    std::shared_ptr<LayerBound> layers = nullptr;  // null: the blocks do not run
    bool alike = false;                            // all layers take equally long
  };
  struct OfType {
    PerSequence any;
    std::map<Sizes, std::vector<OfBlocks>> in;  // for each choice of blocks
    std::string reason;                         // reason why nothing runs on the type
    std::shared_ptr<const Job> job;             // with nodes of the type before all others
    // Rates of stages with a shape of their own, whose replicas may have any number of a microbatch's sequences.
    PerSequence any_shape;
    MadeOnce<BlockFields, OfBlocks> shaped;
  };
  static Sizes sizes_of(const Strategy& layout);
  using Types = std::vector<OfType*>;  // the types that are used
  const Types& of_types(const NodeCounts& counts);
  OfType& of_type(const NodeCounts& counts, std::size_t type);
  void rate(OfType& out, const Job& job);
  OfBlocks of_blocks(const Job& job, const Strategy& choice);
  LayoutShape shape_of(const Strategy& layout, const Strategy& choice) const;
  std::vector<TeamsOfType> teams_of(const NodeCounts& counts, const Types& types, const Strategy& layout,
                                    std::size_t choice) const;
  bool may_fit(std::span<const TeamsOfType> teams, const OfBlocks& blocks, const Strategy& layout);
  LayerBytes bytes_of(const OfBlocks& blocks, const Strategy& layout);
  template <typename Pick>
  Least with(const NodeCounts& counts, const Pick& pick);
  Least least_of(std::vector<WorkPlace> types) const;
  PerSequence of_any_shape(const Job& job, const Strategy& sizes);
  // Stages of one shape on one type, with a choice of blocks.
  struct ShapedStages {
    StagesOfType of;
    const OfBlocks* blocks = nullptr;
    TeamsOfType teams;  // counted as if all replicas of a stage were one

    WorkPlace rate() const { return blocks->rate.on(teams.teams * of.shape.tensor * of.shape.data); }
  };
  std::vector<StagesOfType> stages_of(const NodeCounts& counts, const Strategy& layout) const;
  std::optional<std::vector<ShapedStages>> shaped_stages(const NodeCounts& counts, const Strategy& choice);
  const OfBlocks& blocks_of_shape(OfType& type, const Strategy& choice);
  LayoutShape shape_of_shaped(const Strategy& choice) const;
  bool shaped_may_fit(std::span<const ShapedStages> stages, const Strategy& choice);
  Least least_of_fixed(const NodeCounts& counts);
  Least least_shaped(const NodeCounts& counts, const Strategy& layout);
  Least least_shaped(std::span<const ShapedStages> stages, const Strategy& choice) const;

  // Returns the most bytes of a device that a strategy may use for what depends on the model.
  double bytes_of_model(const GpuSpec& gpu) const {
    const double platform = job_.framework.memory.platform_bytes;
    return limit_.of_device(gpu.memory_bytes.value, platform) - platform;
  }

  const Job& job_;
  const StrategySpace& space_;
  SharedBlocks& shared_;
  EnergyAsked energy_;
  const StateChoices& states_;
  MemoryLimit limit_;
  bool plain_;          // no communication of a pass overlaps with another pass
  bool loops_;          // plain passes in a loop of stages: layouts are bounded by their stages too
  bool stages_follow_;  // ranks are numbered stage by stage
  std::mutex mutex_;
  std::map<std::pair<StageHardware, BlockHardware>, OfType> of_type_;
  std::map<std::vector<bool>, Types> of_types_;                      // by the types that are used
  MadeOnce<std::tuple<Sizes, bool, int>, double> states_of_layers_;  // by sizes, gathering and replicas
};

}  // namespace mirfak
