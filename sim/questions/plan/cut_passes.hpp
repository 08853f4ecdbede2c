#pragma once

#include "plan/priced_branch.hpp"
#include "program/pass_parts.hpp"

#include <optional>
#include <vector>

namespace mirfak {

// The stages of one class of replicas, with passes cut as a strategy demands. What was found for a stage of a branch is
// known for all strategies that cut the stage alike.
class CutStages {
 public:
  // `chunks`: the blocks of each stage's chunks. All arguments must outlive this.
  CutStages(const PricedBranch& branch, const PipelineChoice& choice, const StateChoice& state, int own,
            const std::vector<std::vector<ChunkPlan>>& chunks, const PlaceTerms& terms)
      : branch_(branch), choice_(choice), state_(state), own_(own), chunks_(chunks), terms_(terms) {}

  const CutStage& stage(int stage);

 private:
  CutStageKey key(int stage) const;
  const Job& job(int stage);
  bool as_before(int stage) const;
  CutStage make(int stage);
  CutPass cut(const Job& job, std::size_t place, const StageContents& contents, const ChunkPlan& chunk,
              Pass::Kind kind) const;
  Picoseconds kernels(std::size_t place, const ChunkPlan& chunk, Pass::Kind kind, const PassPart& part) const;

  const PricedBranch& branch_;
  const PipelineChoice& choice_;
  const StateChoice& state_;
  int own_;
  const std::vector<std::vector<ChunkPlan>>& chunks_;
  const PlaceTerms& terms_;
  const CutStage* last_ = nullptr;  // of the stage asked for last
  std::optional<Job> job_;          // of the stages made last: copies take long
  const Job* job_of_ = nullptr;     // the same without pipeline and state
};

}  // namespace mirfak
