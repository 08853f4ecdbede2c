#pragma once

#include "program/lowering.hpp"
#include "program/program.hpp"
#include "program/rank_groups.hpp"
#include "program/stage_plan.hpp"
#include "program/team_writer.hpp"

#include <list>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace mirfak {

// Part of a pass: some blocks in a row, in front of which parameters are gathered, or behind which gradients are
// reduced.
struct PartWork {
  PassWork pass;
  HeldParameters gathers;  // parameters that must have been gathered when it starts, on one rank
  HeldParameters reduces;  // parameters whose gradients are complete when it ends
};

// What a stage's ranks run, with the task classes that describe it. Computed once per stage.
class StageWork {
 public:
  // Adds the stage's classes to `program`. References must outlive this.
  StageWork(Program& program, RankGroups& groups, const Job& job, const ShardedBlocks& blocks, const StagePlan& plan,
            const LoweringOptions& options);

  const PassWork& pass(const Pass& pass) const;
  // The same pass between its collectives over replicas; empty where it has none inside.
  const std::vector<PartWork>& parts(const Pass& pass) const;
  const PassWork& optimizer() const { return optimizer_; }

 private:
  PassWork whole(int chunk, Pass::Kind kind);
  PassWork describe(const FoldedBody& folded, Pass::Kind kind, int chunk);
  PassWork describe(const FoldedBody& folded, TaskKind kind, const char* name, int chunk);
  void add_bodies(PassWork& work, int chunk, Pass::Kind kind, int first, int last);
  const PassWork::Steps& steps_of(BlockId block, Pass::Kind kind);
  std::vector<PartWork> split(int chunk, Pass::Kind kind);
  // The ranks that the collectives of some blocks of a pass keep in step.
  GroupingId meeting(int chunk, Pass::Kind kind, int first, int last);
  // `steps`: of the block that the body is of; empty: kernels that belong to no block.
  const PassWork::Steps& describe_steps(const Body& body, const PartitionedBlock* block,
                                        std::span<const BlockStep* const> steps);

  Program& program_;
  RankGroups& groups_;
  const Job& job_;
  const ShardedBlocks& blocks_;
  const StagePlan& plan_;
  LoweringOptions options_;
  std::list<PassWork::Steps> steps_;  // stable addresses, as are those of
  std::list<Body> copies_;            // kernels around the collectives of parts
  std::map<std::pair<BlockId, Pass::Kind>, const PassWork::Steps*> steps_by_block_;
  std::map<std::pair<BlockId, Pass::Kind>, MeshAxisSet> axes_by_block_;  // that a block's collectives go over
  std::vector<PassWork> forward_;
  std::vector<PassWork> backward_;
  std::vector<std::vector<PartWork>> forward_parts_;
  std::vector<std::vector<PartWork>> backward_parts_;
  PassWork optimizer_;
};

}  // namespace mirfak
