#pragma once

#include "program/program.hpp"
#include "program/stage_plan.hpp"
#include "program/team_writer.hpp"

#include <functional>
#include <list>
#include <map>
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
  // Adds the stage's classes to `program`; `plan` must outlive this.
  StageWork(Program& program, const Job& job, const StagePlan& plan, bool operators);

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
  // `work_of`: what the body's step of an index does.
  const PassWork::Steps& describe_steps(const Body& body, const std::function<TaskWork(std::size_t)>& work_of);

  Program& program_;
  const Job& job_;
  const StagePlan& plan_;
  bool operators_;
  std::list<PassWork::Steps> steps_;  // stable addresses, as are those of
  std::list<Body> copies_;            // kernels around the collectives of parts
  std::map<std::pair<BlockId, Pass::Kind>, const PassWork::Steps*> steps_by_block_;
  std::vector<PassWork> forward_;
  std::vector<PassWork> backward_;
  std::vector<std::vector<PartWork>> forward_parts_;
  std::vector<std::vector<PartWork>> backward_parts_;
  PassWork optimizer_;
};

}  // namespace mirfak
