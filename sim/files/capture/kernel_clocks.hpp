#pragma once

#include "cluster/hardware.hpp"
#include "cost/kernel_model.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Returns the clock of each kernel of a step that repeats, as a share of the full one: the highest that the power limit
// allows to the kernels around it, averaged over kPowerWindow_s of kernels, with the waiting of the step spread over
// it. `costs`: kernels in the order of their launch, at the full clock. `idle_s`: seconds in which no kernel runs.
std::vector<double> kernel_clocks(std::span<const KernelCost* const> costs, double idle_s, const GpuSpec& gpu);

// A power controller averages over tens of milliseconds (lowering/program/settled_clock.cpp).
inline constexpr double kPowerWindow_s = 0.05;

}  // namespace mirfak
