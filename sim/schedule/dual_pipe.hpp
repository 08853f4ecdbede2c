#pragma once

#include "schedule/schedule.hpp"

namespace mirfak {

// DualPipe (DeepSeek-V3 technical report, arXiv 2412.19437, section 3.2.1): every stage holds two parts of the model,
// microbatches enter at both ends, and a forward pass of one chunk runs beside a backward pass of the other. Stages are
// even, microbatches even and at least two a stage. With F&B such a pair, B a whole backward pass and W that of
// weights, a stage idles (p / 2 - 1)(F&B + B - 3 W) and keeps the activations of p + 1 chunk passes.
std::vector<Pass> dual_pipe_order(const PipelineShape& shape, int stage);

// The same folded in the middle (Sea AI Lab's cut-in-half, in DeepSeek's repository): chunks in the shape of a V, so
// that p stages hold every part once and do what 2 p do above.
std::vector<Pass> dual_pipe_v_order(const PipelineShape& shape, int stage);

}  // namespace mirfak
