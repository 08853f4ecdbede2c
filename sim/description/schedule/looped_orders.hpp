#pragma once

#include "schedule/schedule.hpp"

namespace mirfak {

// Return the order of one stage if the chunks of all stages form a loop.
std::vector<Pass> gpipe_order(const PipelineShape& shape, int stage);                     // arXiv 1811.06965
std::vector<Pass> one_forward_one_backward_order(const PipelineShape& shape, int stage);  // arXiv 2006.09503
std::vector<Pass> interleaved_order(const PipelineShape& shape, int stage);               // arXiv 2104.04473
// Megatron-LM's --overlap-moe-expert-parallel-comm (pipeline_parallel/combined_1f1b.py, schedules.py).
std::vector<Pass> combined_order(const PipelineShape& shape, int stage);

}  // namespace mirfak
