// The part of SampledProgram that draws numbers of images.

#include "base/error.hpp"
#include "base/random.hpp"
#include "engine/sampled_draws.hpp"
#include "engine/sampled_program.hpp"

#include <algorithm>

namespace mirfak {

namespace {

constexpr double kShortest = 1e-6;  // of a task's time that is left without images

// Returns the number of images of one sequence, over their mean, below which a share `u` of sequences lies.
double images_at(const std::vector<SampledImages::Count>& counts, double u) {
  const auto found = std::find_if(counts.begin(), counts.end(), [u](const auto& count) { return u < count.up_to; });
  return found == counts.end() ? counts.back().images : found->images;
}

}  // namespace

void SampledProgram::place_images() {
  if (images_.counts.empty()) return;
  if (images_.twice.size() != program_.size()) fail_internal("sampled program: other tasks with twice the images");
  by_images_.assign(program_.size(), 0);
  for (TaskId task = 0; task < program_.size(); ++task) {
    const auto mean = static_cast<double>(program_.duration[task]);
    if (mean > 0) by_images_[task] = static_cast<double>(images_.twice[task]) / mean - 1;
  }
  std::vector<std::size_t> replicas;  // by stage
  for (const ProgramRank& rank : program_.ranks) {
    replicas.resize(std::max<std::size_t>(replicas.size(), rank.stage + 1));
    replicas[rank.stage] = std::max<std::size_t>(replicas[rank.stage], rank.data + 1);
  }
  for (const ProgramRank& rank : program_.ranks) {
    const std::size_t own = replica_count_ / replicas[rank.stage];
    images_of_rank_.push_back({rank.data * own, (rank.data + 1) * own});
  }
  for (const Group& group : program_.groups) {
    std::vector<Replicas>& of = images_of_group_.emplace_back();
    for (const std::uint32_t rank : group.ranks) of.push_back(images_of_rank_[rank]);
    std::sort(of.begin(), of.end());
    of.erase(std::unique(of.begin(), of.end()), of.end());
  }
}

void SampledProgram::draw_images(SampledFactors& out) const {
  if (images_.counts.empty()) return;
  const std::uint32_t purpose = purpose_in(out.sample, of_images);
  out.images.resize(replica_count_ * microbatches_);
  for (std::size_t i = 0; i < out.images.size(); ++i) {
    double sum = 0;
    for (std::size_t sequence = 0; sequence < images_.sequences; ++sequence) {
      const double u = uniform({out.sample.seed, out.sample.number, purpose, i * images_.sequences + sequence});
      sum += images_at(images_.counts, out.sample.mirrored ? 1 - u : u);
    }
    out.images[i] = sum / static_cast<double>(images_.sequences);
  }
}

double SampledProgram::images_of(const Replicas& replicas, std::size_t microbatch,
                                 const SampledFactors& factors) const {
  double sum = 0;
  for (std::size_t i = replicas.first; i < replicas.last; ++i) sum += factors.images[i * microbatches_ + microbatch];
  return sum / static_cast<double>(replicas.last - replicas.first);
}

// Returns the factors by which images lengthen a task. Images lengthen the whole task, so the factors also cover the
// rest of its time, which has no factor. What several replicas do together waits for most images.
TimeFactors SampledProgram::images_of(TaskId task, const Shares& shares, const SampledFactors& factors) const {
  const std::int32_t microbatch = program_.microbatch[task];
  if (by_images_.empty() || by_images_[task] == 0 || microbatch < 0 || shares.rest == 1) return {};
  const auto at = static_cast<std::size_t>(microbatch);
  const GroupId group = program_.group_of(task);
  double most = 0;
  if (group == kNoGroup) {
    most = images_of(images_of_rank_[program_.rank_of(task)], at, factors);
  } else {
    for (const Replicas& of : images_of_group_[group]) most = std::max(most, images_of(of, at, factors));
  }
  const double by = std::max(kShortest, 1 + by_images_[task] * (most - 1) / (1 - shares.rest));
  return {by, by, by};
}

}  // namespace mirfak
