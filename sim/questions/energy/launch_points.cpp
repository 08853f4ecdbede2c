// Half A's collective C beside half B's kernels: b1 is bound by memory, b2 and b3 are products.
//
//   launch 0:  K | b1      | b2 | b3 |      launch 1:  K | b1 | b2  | b3 |
//              C | C         |                         C      | C     |
//
// Beside C, b1 takes half as long again, as C moves bytes through the memory; a product loses the multiprocessors that
// C holds, a fifth. Both have ended sooner with launch 1.

#include "energy/launch_points.hpp"

#include "program/paired_bodies.hpp"

#include <algorithm>
#include <tuple>

namespace mirfak {

namespace {

class Kernels {
 public:
  Kernels(std::span<const BodyStep> steps, std::span<const Picoseconds> starts, const KernelsBeside& place,
          double memory_bytes_per_s)
      : steps_(steps), starts_(starts), place_(place), memory_bytes_per_s_(memory_bytes_per_s) {}

  std::size_t count() const { return place_.end - place_.kernels; }
  bool of_other_half(std::size_t kernel) const {
    return steps_[place_.kernels + kernel].of_second != steps_[place_.collectives].of_second;
  }

  bool can_be_late() const {
    if (place_.collectives == place_.kernels) return false;
    for (std::size_t i = place_.collectives; i < place_.kernels; ++i) {
      if (steps_[i].of_second != steps_[place_.collectives].of_second) return false;
    }
    return starts_[place_.collectives] <= starts_[place_.kernels];
  }

  // True if the kernels take as long as they do in the body.
  bool is_as_merged(const LaunchedKernels& times) const {
    for (std::size_t i = 0; i < count(); ++i) {
      if (times.device[i] != steps_[place_.kernels + i].device) return false;
    }
    return true;
  }

  LaunchedKernels with(std::size_t launch) const {
    LaunchedKernels out;
    Picoseconds late = 0;  // of the collectives, against launch 0
    std::vector<Picoseconds> ends;
    Picoseconds now = 0;
    for (std::size_t i = 0; i < count(); ++i) {
      if (i == launch && launch > 0) late = now - start_of(place_.collectives);
      BodyStep alone = steps_[place_.kernels + i];
      alone.device -= alone.lost;
      for (const int before : alone.after) now = std::max(now, end_of(static_cast<std::size_t>(before), late, ends));
      const bool beside = of_other_half(i) && i >= launch;
      out.device.push_back(alone.device + (beside ? lost(alone, now, late) : 0));
      ends.push_back(now += out.device.back());
    }
    out.kernels_end = out.lasts = now;
    for (std::size_t i = place_.collectives; i < place_.kernels; ++i) {
      out.lasts = std::max(out.lasts, start_of(i) + late + steps_[i].device);
    }
    return out;
  }

 private:
  // Start of a step with launch 0, from the start of the first kernel.
  Picoseconds start_of(std::size_t step) const { return starts_[step] - starts_[place_.kernels]; }

  // End of an earlier step; steps from before the collectives have ended.
  Picoseconds end_of(std::size_t step, Picoseconds late, std::span<const Picoseconds> kernel_ends) const {
    if (step < place_.collectives) return 0;
    if (step < place_.kernels) return start_of(step) + late + steps_[step].device;
    return kernel_ends[step - place_.kernels];
  }

  Picoseconds lost(const BodyStep& kernel, Picoseconds now, Picoseconds late) const {
    Picoseconds most = 0;
    for (std::size_t i = place_.collectives; i < place_.kernels; ++i) {
      const Picoseconds start = start_of(i) + late;
      const Picoseconds left = start + steps_[i].device - now;
      if (start > now || left <= 0) continue;
      most = std::max(most, lost_beside(steps_[i], left, kernel, memory_bytes_per_s_));
    }
    return most;
  }

  std::span<const BodyStep> steps_;
  std::span<const Picoseconds> starts_;
  const KernelsBeside& place_;
  double memory_bytes_per_s_;
};

}  // namespace

std::optional<LaunchedKernels> launched_with(std::span<const BodyStep> steps, std::span<const Picoseconds> starts,
                                             const KernelsBeside& place, std::size_t launch,
                                             double memory_bytes_per_s) {
  const Kernels kernels(steps, starts, place, memory_bytes_per_s);
  if (launch >= kernels.count() || !kernels.can_be_late() || !kernels.is_as_merged(kernels.with(0))) return {};
  for (std::size_t i = 0; i <= launch; ++i) {
    if (!kernels.of_other_half(i)) return {};
  }
  return kernels.with(launch);
}

std::optional<LaunchPoint> best_launch(std::span<const BodyStep> steps, std::span<const Picoseconds> starts,
                                       const KernelsBeside& place, double memory_bytes_per_s) {
  const auto soonest = launched_with(steps, starts, place, 0, memory_bytes_per_s);
  if (!soonest) return {};
  LaunchPoint out;
  for (std::size_t launch = 1; launch < place.end - place.kernels; ++launch) {
    const auto times = launched_with(steps, starts, place, launch, memory_bytes_per_s);
    if (!times) break;
    const Picoseconds earlier = soonest->lasts - times->lasts;
    const Picoseconds later = times->kernels_end - soonest->kernels_end;
    if (std::tuple(-earlier, later) < std::tuple(-out.earlier, out.kernels_later)) out = {launch, earlier, later};
  }
  return out;
}

}  // namespace mirfak
