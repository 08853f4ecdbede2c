#pragma once

#include "recording/recording.hpp"

#include <cstddef>
#include <vector>

namespace mirfak {

// A step predicted from others of its recording. Seconds.
struct ReplayedStep {
  std::size_t step = 0;          // index in Recording::steps
  double other_predicted_s = 0;  // GPU busy with anything but communication
  double other_measured_s = 0;
  double step_predicted_s = 0;  // from the host's begin of the step to its end
  double step_measured_s = 0;
  std::size_t kernels = 0;
  std::size_t unknown = 0;  // of them, of a name that no step of the fit has: left out of the prediction

  double other_error() const { return other_predicted_s / other_measured_s - 1; }
  double step_error() const { return step_predicted_s / step_measured_s - 1; }
};

struct ReplayScore {
  std::vector<std::size_t> fitted;   // indices of steps: the first, third, ...
  std::vector<ReplayedStep> judged;  // the second, fourth, ...
  double other_spread = 0;           // longest / shortest of all steps - 1
  double step_spread = 0;
  double shortest_step_s = 0;
  double longest_step_s = 0;
};

// Times of kernels and the host's times between launches, as means over every second step, kernels by name and
// operator, launches by name and number in the step; the steps between are replayed with them: the host issues its
// kernels in their order, each starts when it is issued and its stream is free. What streams wait for otherwise is not
// recorded. Without two steps, or without launches, nothing is judged.
ReplayScore replay_steps(const Recording& recording);

}  // namespace mirfak
