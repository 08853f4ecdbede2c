#pragma once

#include "recording/recording.hpp"

#include <cstddef>
#include <vector>

namespace mirfak {

// A step predicted from other steps of its recording. Times in seconds.
struct ReplayedStep {
  std::size_t step = 0;          // index in Recording::steps
  double other_predicted_s = 0;  // GPU busy with anything but communication
  double other_measured_s = 0;
  double step_predicted_s = 0;  // from the host's begin of the step to its end
  double step_measured_s = 0;
  std::size_t kernels = 0;
  std::size_t unknown = 0;  // number of those kernels whose name no fitted step has: left out of the prediction

  double other_error() const { return other_predicted_s / other_measured_s - 1; }
  double step_error() const { return step_predicted_s / step_measured_s - 1; }
};

struct ReplayScore {
  std::vector<std::size_t> fitted;   // indices of steps: the first, third, ...
  std::vector<ReplayedStep> judged;  // the second, fourth, ... step
  double other_spread = 0;           // longest / shortest of all steps - 1
  double step_spread = 0;
  double shortest_step_s = 0;
  double longest_step_s = 0;
};

// Fits the times of kernels and the host's times between launches as means over every second step: kernels by name and
// operator, launches by name and number in the step. The steps between are replayed with these means: the host issues
// its kernels in their order, and each kernel starts when it is issued and its stream is free. Other dependencies of
// streams are not recorded. Without two steps, or without launches, nothing is judged.
ReplayScore replay_steps(const Recording& recording);

}  // namespace mirfak
