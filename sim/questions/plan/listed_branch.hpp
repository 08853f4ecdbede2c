#pragma once

#include "plan/branch.hpp"

#include <functional>

namespace mirfak {

// A branch with its pipelines, bounded by the pipeline that divides the work best.
class ListedBranch : public Branch {
 public:
  ListedBranch(Branch branch, const StrategySpace& space, SharedBlocks& shared);

  // Number of choices in the rows of all pipelines.
  std::int64_t rows() const { return rows_; }
  // Calls `visit` with each pipeline whose bound, by its layers alone, `may` accepts, and with its number among all
  // pipelines. Each has the first choice of its row of recomputed layers. A `may` that rejects a bound must reject
  // every higher bound. Returns the number of choices in the rows of the pipelines left out.
  std::int64_t visit_pipelines(const std::function<bool(Picoseconds)>& may,
                               const std::function<void(const PipelineChoice&, std::size_t)>& visit) const;

 private:
  // Times of a stage before its microbatches and for each of them: `m` microbatches take at least the largest around +
  // m * each of its lines.
  struct StageLine {
    Picoseconds around = 0;
    Picoseconds each = 0;
  };
  using Lines = std::vector<std::vector<StageLine>>;  // for each class of replicas
  void set_lines(const PipelineChoice& choice, Lines& lines) const;
  void set_lines(const PipelineChoice& choice, int own, std::vector<StageLine>& lines) const;
  Picoseconds bound_of_share(const Lines& lines, std::size_t share) const;
  std::size_t best_share(const Lines& lines) const;

  SharedBlocks::Pipelines pipelines_;  // with their microbatches left open
  std::int64_t rows_ = 0;
};

}  // namespace mirfak
