#pragma once

#include "calibration/attention_table.hpp"

#include <vector>

namespace mirfak {

// Fits section attention.<target.attention> of `gpu` to calls timed by themselves (AttentionModel::forward and backward
// at the full clock): the forward and backward efficiency of each head dimension, and the times that kernels do not
// hide, which all head dimensions share. Bandwidth and launch are those of `gpu`: fit its tables of memory-bound
// kernels first.
//
// Few rows determine few constants: all other constants stay as the profile has them (section.source lists them), or,
// in a profile without the section, as another generation of kernels has them. Without backward calls the backward
// efficiency keeps its ratio to the forward one. Head dimensions that were not measured stay in the profile as they are
// (section.kept). Error(input) if a head dimension has no forward calls, and with target.score_only if the profile
// lacks the section.
FittedSection fit_attention_calls(const GpuSpec& gpu, const std::vector<MeasuredAttention>& samples,
                                  const CalibrationTarget& target);

}  // namespace mirfak
