#pragma once

#include "schedule/schedule.hpp"

namespace mirfak {

// Orders that split backward passes and fill bubbles with backward passes of weights (arXiv 2401.10241). With F, B, W
// the passes of one microbatch (B of inputs), p stages, and no stage waiting for the others before its optimizer step:
//
//   zb-h1   a stage idles (p - 1)(F + B - W), at the memory of 1F1B: p microbatches
//   zb-h2   a stage idles (p - 1)(F + B - 2 W), 0 if all passes are equal, with 2 p - 1 microbatches
//   zb-v    a stage never idles if all passes are equal, with p microbatches and two chunks per stage that form a V
std::vector<Pass> zero_bubble_h1_order(const PipelineShape& shape, int stage);
std::vector<Pass> zero_bubble_h2_order(const PipelineShape& shape, int stage);
std::vector<Pass> zero_bubble_v_order(const PipelineShape& shape, int stage);

// Returns the orders of the memory-limited heuristic of section 3.1: the shortest, for these times, of several greedy
// orders that keep the activations of at most shape.max_in_flight microbatches on any stage, and of zb-h1 and zb-h2 if
// these keep the limit too. The result is never longer than zb-h1 at the limit of zb-h1.
StageOrders memory_limited_orders(const PipelineShape& shape, const PassTimes& times);

}  // namespace mirfak
