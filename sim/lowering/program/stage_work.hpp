#pragma once

#include "program/folded_passes.hpp"
#include "program/lowered_passes.hpp"
#include "program/paired_bodies.hpp"
#include "program/program.hpp"
#include "program/rank_factors.hpp"
#include "program/rank_groups.hpp"
#include "program/stage_plan.hpp"
#include "program/team_writer.hpp"

#include <array>
#include <list>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace mirfak {

// Part of a pass: some consecutive blocks, before which parameters are gathered, or after which gradients are reduced.
struct PartWork {
  PassWork pass;
  HeldParameters gathers;  // parameters that must have been gathered when it starts, on one rank
  HeldParameters reduces;  // parameters whose gradients are complete when it ends
  HeldParameters parts;    // parameters of which replicas hold the same parts (weight_exchange.hpp)
  // The blocks [first, last) of the pass, and the kernels around the part's collectives over replicas; null: none.
  int first = 0;
  int last = 0;
  const Body* around = nullptr;
};

// A plan whose passes are as ranks with factors run them.
struct SlowedPlan {
  ActivityFactors factors;
  StagePlan plan;  // result of slowed() with these factors
};

// Passes that a stage's ranks run, with the task classes that describe them. Computed once per stage.
class StageWork {
 public:
  // Adds the stage's classes to `program`. `slowed`: for ranks with factors, the plan as these factors change it.
  // References must outlive this object.
  StageWork(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks, const StagePlan& plan,
            const LoweringOptions& options, const SlowedPlan* slowed = nullptr);

  const PassWork& pass(const Pass& pass) const;
  // The parts of a pass between its collectives over replicas; empty if it has no collectives over replicas inside.
  const std::vector<PartWork>& parts(const Pass& pass) const;
  // The passes, and parts of passes, that are one task each; without pairs.
  std::vector<FoldedPass> folded_passes() const;
  // A forward and a backward pass that run in parallel, written as one after the other: together they take as long as
  // the pair, and their results leave when both have ended. At detail "operators" the first pass has the kernels of
  // both, each kernel with the pass it belongs to.
  struct PairWork {
    PassWork first;
    PassWork second;
  };
  const PairWork& pair(const Pass& forward, const Pass& backward) const;
  const PassWork& optimizer() const { return optimizer_; }
  // Sets the durations of the classes of passes and of their parts, by ClassId.
  void set_durations(std::span<ClassPrice> prices) const;

 private:
  PassWork whole(int chunk, Pass::Kind kind);
  // Adds the time that a pass waits for copies of activations, which run beside its kernels.
  void add_wait_for_copies(Body& around, int chunk, Pass::Kind kind) const;
  PairWork make_pair(const Pass& forward, const Pass& backward);
  std::size_t recomputed_alone(const PartitionedBlock& block, Pass::Kind kind) const;
  const PassWork::Steps& pair_steps(const PairedBody& paired, BlockId ahead, const Pass& forward, BlockId back,
                                    const Pass& backward);
  MeshAxisSet axes_of(int chunk, Pass::Kind kind, int first, int last);
  TaskClass pass_class(const FoldedBody& folded, Pass::Kind kind, int chunk) const;
  TaskClass device_class(const FoldedBody& folded, TaskKind kind, const char* name, int chunk) const;
  void describe_optimizer();
  ClassId add_class(TaskClass of);
  PassWork describe(const FoldedBody& folded, TaskClass device);
  void add_bodies(PassWork& work, int chunk, Pass::Kind kind, int first, int last);
  const PassWork::Steps& steps_of(BlockId block, Pass::Kind kind, int chunk, RowPlace place);
  std::vector<PartWork> split(int chunk, Pass::Kind kind);
  // Grouping of the ranks that the collectives of some blocks of a pass keep in step.
  GroupingId meeting(int chunk, Pass::Kind kind, int first, int last);
  // A step of a block; null block: a kernel that belongs to no block.
  struct StepOf {
    const PartitionedBlock* block = nullptr;
    const BlockStep* step = nullptr;
  };
  struct PassOf {
    Pass::Kind kind{};
    int chunk = -1;
  };
  // Origins of the steps of a body: one pass, or the two passes of a pair.
  struct Origins {
    std::array<PassOf, 2> passes;
    std::vector<StepOf> steps;    // empty: steps of no block
    std::vector<bool> of_second;  // empty: all steps are of the first pass

    bool second(std::size_t step) const { return !of_second.empty() && of_second[step]; }
    StepOf step(std::size_t step) const { return steps.empty() ? StepOf{} : steps[step]; }
  };
  static std::vector<StepOf> steps_of(const PartitionedBlock& block, const std::vector<const BlockStep*>& steps);
  const PassWork::Steps& describe_steps(const Body& body, const Origins& origins);
  std::vector<bool> quiet_in(const Body& body) const;
  // Describes a body in which the kernels between two collectives are one step.
  PassWork::Steps describe_runs(const Body& body, const Origins& origins);
  TaskClass describe_step(const BodyStep& step, const StepOf& of);

  Program& program_;
  RankGroups& groups_;
  const Job& job_;
  const ShardedBlocks& blocks_;
  const StagePlan& as_priced_;
  const StagePlan& plan_;
  const ActivityFactors* factors_;  // factors in the passes of the plan; null: none
  LoweringOptions options_;
  std::list<PassWork::Steps> steps_;                                   // std::list: addresses are stable
  std::list<Body> paired_;                                             // bodies of two passes
  std::list<Body> copies_;                                             // kernels around the collectives of parts
  std::list<Body> condensed_;                                          // bodies whose consecutive steps are one
  using BlockKey = std::tuple<BlockId, Pass::Kind, int, std::size_t>;  // the chunk, where it matters; place in a row
  std::map<BlockKey, const PassWork::Steps*> steps_by_block_;
  std::map<std::pair<BlockId, Pass::Kind>, MeshAxisSet> axes_by_block_;  // axes of a block's collectives
  // Indexed by kind of pass, then by chunk.
  std::array<std::vector<PassWork>, 4> whole_;
  std::array<std::vector<std::vector<PartWork>>, 4> parts_;
  using PairKey = std::tuple<std::int32_t, std::int32_t, Pass::Kind>;  // chunks of both passes, kind of the second
  std::map<PairKey, PairWork> pairs_;
  PassWork optimizer_;
};

}  // namespace mirfak
