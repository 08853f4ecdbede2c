#pragma once

#include "validation/measured_run.hpp"

#include <cstdint>
#include <vector>

namespace mirfak {

// Sequences of a microbatch: as stated, or the replica's whole share where the run has no pipeline and says nothing.
// Error(infeasible) at the row where neither serves.
std::int64_t micro_batch_of(const MeasuredRun& run);

// Layers of every chunk where they are not even (Strategy::layer_split): as a `pp_layout=` of the flags states them;
// or, where layers do not divide, with embedding and loss counted as a layer each; or with the last chunks short.
// Empty: even, or the row does not state what is needed.
std::vector<int> layer_split_of(const MeasuredRun& run);

// The layers of the chunks of Megatron Core's pipeline layout, such as "Et*4|(t*4|)*14tmL": E embedding, t layer, m
// multi-token prediction, L loss, | end of a chunk, x*n and (...)*n repeated. Empty where it cannot be read.
std::vector<int> layers_of_pipeline_layout(const std::string& layout);

}  // namespace mirfak
