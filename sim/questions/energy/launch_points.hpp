#pragma once

#include "program/body.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace mirfak {

// Kernels of one half of a microbatch, and the collectives of the other half that run beside them: consecutive steps of
// a merged body (program/paired_bodies.hpp), first the collectives, then the kernels. Indices of the body's steps.
struct KernelsBeside {
  std::size_t collectives = 0;
  std::size_t kernels = 0;
  std::size_t end = 0;
};

// Kernels whose collectives start together with one of them.
struct LaunchedKernels {
  std::vector<Picoseconds> device;  // time of each kernel, with the time that it loses beside collectives
  Picoseconds kernels_end = 0;      // from the start of the first kernel
  Picoseconds lasts = 0;            // until all kernels and collectives have ended
};

// Returns the times of kernels whose collectives start with kernel `launch` of them, or as soon as their data are there
// with launch 0 (Kareus, arXiv 2601.17654: launch timing). Kernels that are bound by memory lose the bandwidth that a
// collective takes, others the multiprocessors that it holds, so it matters which kernels a collective runs beside; no
// kernel's energy depends on it. `starts`: times at which the steps of the body start with launch 0.
//
// Nothing if the collectives cannot start later: they are not ready when the first kernel starts, a kernel up to
// `launch` is of their own half and may wait for them, or launch 0 does not give the times that the kernels have in
// `steps` (a collective from before runs beside them, too).
std::optional<LaunchedKernels> launched_with(std::span<const BodyStep> steps, std::span<const Picoseconds> starts,
                                             const KernelsBeside& place, std::size_t launch, double memory_bytes_per_s);

// Returns the launch that ends the kernels and collectives soonest; of equal ones the first that ends the kernels
// soonest. Nothing if the collectives cannot start later.
struct LaunchPoint {
  std::size_t launch = 0;
  // Against launch 0: so much earlier all have ended, so much later the kernels (negative: earlier).
  Picoseconds earlier = 0;
  Picoseconds kernels_later = 0;
};
std::optional<LaunchPoint> best_launch(std::span<const BodyStep> steps, std::span<const Picoseconds> starts,
                                       const KernelsBeside& place, double memory_bytes_per_s);

}  // namespace mirfak
