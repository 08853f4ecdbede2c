#include "plan/listed_branch.hpp"

#include "plan/layout_bound.hpp"

#include <algorithm>
#include <limits>

namespace mirfak {

ListedBranch::ListedBranch(Branch branch, const StrategySpace& space, SharedBlocks& shared)
    : Branch(std::move(branch)), pipelines_(shared.pipelines_of(job_, space, layout_->hardware_of)) {
  plain_ = true;
  Picoseconds best = std::numeric_limits<Picoseconds>::max();
  Lines lines;
  for (const PipelineChoice& choice : *pipelines_) {
    plain_ = plain_ && choice.plain();
    rows_ += static_cast<std::int64_t>(choice.row->size() * shares_.size());
    if (shares_.empty()) continue;
    set_lines(choice, lines);
    best = std::min(best, bound_of_share(lines, best_share(lines)));
  }
  bound_ = std::max(bound_, best);
}

void ListedBranch::set_lines(const PipelineChoice& choice, Lines& lines) const {
  lines.resize(static_cast<std::size_t>(layout_->count()));
  for (int own = 0; own < layout_->count(); ++own) set_lines(choice, own, lines[static_cast<std::size_t>(own)]);
}

// The first pass of a stage follows the first passes of the stages before it; its last pass precedes their last passes
// (PipelineBound).
void ListedBranch::set_lines(const PipelineChoice& choice, int own, std::vector<StageLine>& lines) const {
  lines.clear();
  if (!choice.plain()) {
    double min = std::numeric_limits<double>::infinity();
    for (const auto& kind : layer_terms_) min = std::min(min, kind->kernels_s);
    // The busiest stage runs at least the average share of the passes.
    lines.push_back({0, to_picoseconds(min / job_.strategy.pipeline * kRounding)});
    return;
  }
  const bool alike =
      std::all_of(layer_terms_.begin(), layer_terms_.end(), [](const auto& of) { return of->of_each > 0; });
  const std::vector<int> begins = alike ? std::vector<int>() : choice.begins();
  Picoseconds around = 0;
  for (int stage = 0; stage < job_.strategy.pipeline; ++stage) {
    const LayerBound::Terms& terms = *layer_terms_[kind_of(layout_->place(stage, own))];
    Picoseconds first = 0;
    Picoseconds all = 0;
    if (alike) {
      first = terms.of_each * choice.layers_of_first_chunk(stage);
      all = terms.of_each * choice.layers_of_stage(stage);
    } else {
      for (int chunk = 0; chunk < choice.chunks; ++chunk) {
        const Picoseconds of_chunk = terms.of(choice.layers_of(begins, stage, chunk));
        if (chunk == 0) first = of_chunk;
        all += of_chunk;
      }
    }
    // Later stages begin later: an earlier stage matters only if it has more to do.
    while (!lines.empty() && lines.back().each <= all) lines.pop_back();
    lines.push_back({around, all});
    around += first;
  }
}

Picoseconds ListedBranch::bound_of_share(const Lines& lines, std::size_t share) const {
  Picoseconds out = 0;
  for (std::size_t own = 0; own < lines.size(); ++own) {
    const Picoseconds m = (*shares_[share])[own];
    for (const StageLine& line : lines[own]) out = std::max(out, line.around + m * line.each);
  }
  return out;
}

// From one share to the next the first class has more microbatches and the second fewer: the time of the first class
// rises and that of the second falls, and the best share is where the two meet.
std::size_t ListedBranch::best_share(const Lines& lines) const {
  std::size_t low = 0;
  std::size_t high = shares_.size() - 1;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (bound_of_share(lines, middle) <= bound_of_share(lines, middle + 1)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Bounds rise on either side of the best share.
std::int64_t ListedBranch::visit_pipelines(const std::function<bool(Picoseconds)>& may,
                                           const std::function<void(const PipelineChoice&, std::size_t)>& visit) const {
  std::int64_t skipped = 0;
  std::size_t number = 0;
  Lines lines;
  for (const PipelineChoice& listed : *pipelines_) {
    const std::size_t count = shares_.size();
    if (count == 0) break;
    set_lines(listed, lines);
    const auto matters = [&](std::size_t share) { return may(bound_of_share(lines, share)); };
    std::size_t begin = best_share(lines);
    std::size_t end = begin;
    if (matters(begin)) {
      while (begin > 0 && matters(begin - 1)) --begin;
      for (++end; end < count && matters(end);) ++end;
    }
    skipped += static_cast<std::int64_t>(listed.row->size() * (count - (end - begin)));
    for (std::size_t share = begin; share < end; ++share) {
      PipelineChoice choice = listed;
      choice.microbatches = shares_[share];
      visit(choice, number + share);
    }
    number += count;
  }
  return skipped;
}

}  // namespace mirfak
