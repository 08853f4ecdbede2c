#pragma once

#include "plan/branch.hpp"
#include "schedule/schedule.hpp"

#include <functional>
#include <span>
#include <vector>

namespace mirfak {

// A branch with its pipelines, bounded by the pipeline that divides the work best.
class ListedBranch : public Branch {
 public:
  // Says whether a pipeline with such a bound may matter. If it rejects a bound, it must reject every higher bound.
  using May = std::function<bool(Picoseconds)>;

  // If stages lie on different hardware, pipelines are left out in which the passes of one stage alone take longer than
  // `may` accepts: of the ways to give layers to several types, few are near the best. An empty `may` accepts all.
  ListedBranch(Branch branch, const StrategySpace& space, SharedBlocks& shared, const May& may = {});

  // Number of choices in the rows of all pipelines.
  std::int64_t rows() const { return rows_; }
  // Returns a pipeline by its number, with the first choice of its row of recomputed layers.
  PipelineChoice pipeline(std::size_t number) const;
  // Returns a schedule of the pipelines for each of those that split backward passes or pair passes, and for others;
  // without any pipeline that of the job.
  std::vector<ScheduleId> kinds_of_schedules() const;
  // Number of choices in the row of a pipeline.
  std::int64_t choices_of(std::size_t number) const {
    return static_cast<std::int64_t>((*pipelines_)[number / shares_.size()].row->size());
  }
  // Calls `visit` with the number of each pipeline whose bound, by its layers alone, `may` accepts, and with this
  // bound. Returns the number of choices in the rows of the pipelines left out.
  std::int64_t visit_pipelines(const May& may, const std::function<void(std::size_t, Picoseconds)>& visit) const;

 private:
  // Times of a stage before its microbatches and for each of them: `m` microbatches take at least the largest around +
  // m * each of its lines.
  struct StageLine {
    Picoseconds around = 0;
    Picoseconds each = 0;
  };
  using Lines = std::vector<std::vector<StageLine>>;  // for each class of replicas
  SharedBlocks::Pipelines pipelines_that(const May& may, const StrategySpace& space, SharedBlocks& shared) const;
  Picoseconds least_of_layer(std::span<const Picoseconds> layers) const;
  std::vector<int> most_layers(const May& may) const;
  void set_lines(const PipelineChoice& choice, Lines& lines) const;
  void set_lines(const PipelineChoice& choice, int own, std::vector<StageLine>& lines) const;
  Picoseconds bound_of_share(const Lines& lines, std::size_t share) const;
  std::size_t best_share(const Lines& lines) const;

  SharedBlocks::Pipelines pipelines_;  // with their microbatches left open
  std::int64_t rows_ = 0;
};

}  // namespace mirfak
