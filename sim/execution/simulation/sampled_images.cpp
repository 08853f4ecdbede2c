#include "simulation/sampled_images.hpp"

#include "simulation/sampled_experts.hpp"

namespace mirfak {

bool is_drawn(const Job& job) { return job.cluster.perturbations().is_drawn() || job.training.images.drawn(); }

SampledImages sampled_images(const Job& job, std::span<const StagePlan> plans) {
  SampledImages out;
  const SequenceImages& images = job.training.images;
  if (!images.drawn()) return out;
  double all = 0;
  for (const ImageCount& of : images.counts) all += of.count;
  double so_far = 0;
  for (const ImageCount& of : images.counts) {
    so_far += of.count;
    out.counts.push_back({so_far / all, static_cast<double>(of.images) / images.mean});
  }
  out.sequences =
      static_cast<std::size_t>(job.strategy.micro_batch) * static_cast<std::size_t>(job.training.preferences.answers);
  Job twice = job;
  twice.training.images.mean *= 2;
  out.twice = sampled_durations(twice, plans);
  return out;
}

}  // namespace mirfak
