#pragma once

#include "schedule/schedule.hpp"

namespace mirfak {

// DualPipe (DeepSeek-V3 technical report, arXiv 2412.19437, section 3.2.1): every stage holds two parts of the model,
// microbatches enter at both ends, and a forward pass of one chunk is overlapped with a backward pass of the other. The
// number of stages is even; the number of microbatches is even and at least two per stage. With F&B such a pair, B a
// whole backward pass and W a backward pass of weights, a stage idles (p / 2 - 1)(F&B + B - 3 W) and keeps the
// activations of p + 1 chunk passes.
std::vector<Pass> dual_pipe_order(const PipelineShape& shape, int stage);

// DualPipe folded in the middle (Sea AI Lab's cut-in-half, in DeepSeek's repository): chunks form a V, so that p stages
// hold every part once and do the work of 2 p stages of DualPipe.
std::vector<Pass> dual_pipe_v_order(const PipelineShape& shape, int stage);

}  // namespace mirfak
