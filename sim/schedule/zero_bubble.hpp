#pragma once

#include "schedule/schedule.hpp"

namespace mirfak {

// Orders that split backward passes and fill what would be bubbles with those of weights (arXiv 2401.10241). With F, B,
// W the passes of one microbatch (B of inputs), p stages, and no stage waiting for the others before its optimizer
// step:
//
//   zb-h1   a stage idles (p - 1)(F + B - W), at the memory of 1F1B: p microbatches
//   zb-h2   (p - 1)(F + B - 2 W), 0 where all are equal, with 2 p - 1 microbatches
//   zb-v    nothing where all are equal, with p microbatches, by two chunks a stage in the shape of a V
std::vector<Pass> zero_bubble_h1_order(const PipelineShape& shape, int stage);
std::vector<Pass> zero_bubble_h2_order(const PipelineShape& shape, int stage);
std::vector<Pass> zero_bubble_v_order(const PipelineShape& shape, int stage);

// The memory-limited heuristic of section 3.1: the shortest of several greedy orders for these times that keep the
// activations of at most shape.max_in_flight microbatches on any stage, and of zb-h1 and zb-h2 where these do. The
// first is never longer than zb-h1 at its limit.
StageOrders memory_limited_orders(const PipelineShape& shape, const PassTimes& times);

}  // namespace mirfak
