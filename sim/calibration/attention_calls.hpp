#pragma once

#include "calibration/attention_table.hpp"

#include <vector>

namespace mirfak {

// Section attention.<target.attention> of `gpu`, from calls timed by themselves (AttentionModel::forward and backward
// at the full clock): by head dimension the efficiency, forward and backward, and shared by all what kernels do not
// hide. Bandwidth and launch are those of `gpu`: fit its tables of memory-bound kernels first.
//
// Few rows tell few constants: all others stay as the profile has them (section.source says which), in a profile
// without the section as another generation of kernels has them. Without backward calls the backward efficiency keeps
// its ratio to the forward one. Sizes of heads that were not measured stay in the profile as they are (section.kept).
// Error(input) where heads of a size have no forward calls, and with target.score_only where the profile lacks the
// section.
FittedSection fit_attention_calls(const GpuSpec& gpu, const std::vector<MeasuredAttention>& samples,
                                  const CalibrationTarget& target);

}  // namespace mirfak
