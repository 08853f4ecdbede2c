#pragma once

#include "program/program.hpp"
#include "program/stage_plan.hpp"
#include "program/team_writer.hpp"

#include <list>
#include <map>
#include <utility>
#include <vector>

namespace mirfak {

// The part of a chunk's last backward pass that completes one bucket of gradients.
struct BucketWork {
  PassWork pass;
  double parameters = 0;  // of the bucket, on one rank
};

// What a stage's ranks run, with the task classes that describe it. Computed once per stage.
class StageWork {
 public:
  // Adds the stage's classes to `program`; `plan` must outlive this. `buckets`: gradients are reduced in buckets
  // behind the last backward pass of each chunk.
  StageWork(Program& program, const Job& job, const StagePlan& plan, bool operators, bool buckets);

  const PassWork& pass(const Pass& pass) const;
  const std::vector<BucketWork>& last_backward(int chunk) const { return buckets_[static_cast<std::size_t>(chunk)]; }
  const PassWork& optimizer() const { return optimizer_; }

 private:
  PassWork backward_part(int chunk, int first, int last);
  PassWork describe(const FoldedBody& folded, TaskKind kind, const char* name, int chunk);
  void add_bodies(PassWork& work, int chunk, Pass::Kind kind, int first, int last);
  const PassWork::Steps& steps_of(BlockId block, Pass::Kind kind);
  std::vector<BucketWork> split_into_buckets(int chunk);
  PassWork optimizer_step();

  Program& program_;
  const Job& job_;
  const StagePlan& plan_;
  bool operators_;
  std::list<PassWork::Steps> steps_;  // stable addresses
  std::map<std::pair<BlockId, Pass::Kind>, const PassWork::Steps*> steps_by_block_;
  std::vector<PassWork> forward_;
  std::vector<PassWork> backward_;
  std::vector<std::vector<BucketWork>> buckets_;
  PassWork optimizer_;
};

}  // namespace mirfak
