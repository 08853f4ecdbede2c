#include "plan/listed_branch.hpp"

#include "plan/largest.hpp"
#include "plan/layout_bound.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

namespace mirfak {

namespace {

Picoseconds shortest_layer(const LayerBound::Terms& terms) {
  Picoseconds out = std::numeric_limits<Picoseconds>::max();
  for (std::size_t i = 1; i < terms.device.size(); ++i) out = std::min(out, terms.device[i] - terms.device[i - 1]);
  return out;
}

}  // namespace

ListedBranch::ListedBranch(Branch branch, const StrategySpace& space, SharedBlocks& shared, const May& may)
    : Branch(std::move(branch)) {
  pipelines_ = pipelines_that(may, space, shared);
  plain_ = true;
  Picoseconds best = std::numeric_limits<Picoseconds>::max();
  Lines lines;
  for (const PipelineChoice& choice : *pipelines_) {
    plain_ = plain_ && choice.plain();
    rows_ += static_cast<std::int64_t>(choice.row->size() * shares_.size());
    set_lines(choice, lines);
    best = std::min(best, bound_of_share(lines, best_share(lines)));
  }
  bound_ = std::max(bound_, best);
}

// Without a way to share the microbatches there is no pipeline.
SharedBlocks::Pipelines ListedBranch::pipelines_that(const May& may, const StrategySpace& space,
                                                     SharedBlocks& shared) const {
  if (shares_.empty()) return std::make_shared<const std::vector<PipelineChoice>>();
  const std::vector<int>& hardware = layout_->hardware_of;
  const bool differ = std::adjacent_find(hardware.begin(), hardware.end(), std::not_equal_to<>()) != hardware.end();
  const std::vector<int> most = may && differ ? most_layers(may) : std::vector<int>();
  return shared.pipelines_of(job_, space, hardware, most);
}

// Returns the least time of one layer of a stage for all microbatches, over all shares of them. `layers`: time of a
// layer for one microbatch, for each class of replicas.
Picoseconds ListedBranch::least_of_layer(std::span<const Picoseconds> layers) const {
  Picoseconds least = std::numeric_limits<Picoseconds>::max();
  for (const auto& share : shares_) {
    Picoseconds slowest = 0;
    for (std::size_t own = 0; own < layers.size(); ++own) slowest = std::max(slowest, layers[own] * (*share)[own]);
    least = std::min(least, slowest);
  }
  return least;
}

// Returns the most layers of each stage of a plain pipeline whose time `may` accepts: a stage runs each of its layers
// once for each microbatch (set_lines). Empty: any number.
std::vector<int> ListedBranch::most_layers(const May& may) const {
  const auto layers = static_cast<int>(job_.model.layers);
  std::map<std::vector<Picoseconds>, int> known;  // by the times of a layer
  std::vector<int> out;
  for (int stage = 0; stage < job_.strategy.pipeline; ++stage) {
    std::vector<Picoseconds> of_classes;
    for (int own = 0; own < layout_->count(); ++own) {
      of_classes.push_back(shortest_layer(*layer_terms_[kind_of(layout_->place(stage, own))]));
    }
    const auto [most, is_new] = known.try_emplace(of_classes);
    if (is_new) {
      const Picoseconds of_layer = least_of_layer(of_classes);
      most->second = largest(layers, [&](int some) { return may(of_layer * some); });
    }
    out.push_back(most->second);
  }
  const bool any = std::all_of(out.begin(), out.end(), [&](int most) { return most == layers; });
  return any ? std::vector<int>() : out;
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

PipelineChoice ListedBranch::pipeline(std::size_t number) const {
  PipelineChoice out = (*pipelines_)[number / shares_.size()];
  out.microbatches = shares_[number % shares_.size()];
  return out;
}

std::vector<ScheduleId> ListedBranch::kinds_of_schedules() const {
  std::map<std::pair<bool, bool>, ScheduleId> kinds;
  for (const PipelineChoice& listed : *pipelines_) {
    const Schedule& schedule = schedule_of(listed.schedule);
    kinds.try_emplace({schedule.splits, schedule.pairs}, listed.schedule);
  }
  if (kinds.empty()) return {job_.strategy.schedule};
  std::vector<ScheduleId> out;
  for (const auto& [kind, schedule] : kinds) out.push_back(schedule);
  return out;
}

// Bounds rise on either side of the best share.
std::int64_t ListedBranch::visit_pipelines(const May& may,
                                           const std::function<void(std::size_t, Picoseconds)>& visit) const {
  std::int64_t skipped = 0;
  std::size_t number = 0;
  Lines lines;
  for (const PipelineChoice& listed : *pipelines_) {
    const std::size_t count = shares_.size();
    set_lines(listed, lines);
    const auto matters = [&](std::size_t share) { return may(bound_of_share(lines, share)); };
    std::size_t begin = best_share(lines);
    std::size_t end = begin;
    if (matters(begin)) {
      while (begin > 0 && matters(begin - 1)) --begin;
      for (++end; end < count && matters(end);) ++end;
    }
    skipped += static_cast<std::int64_t>(listed.row->size() * (count - (end - begin)));
    for (std::size_t share = begin; share < end; ++share) visit(number + share, bound_of_share(lines, share));
    number += count;
  }
  return skipped;
}

}  // namespace mirfak
