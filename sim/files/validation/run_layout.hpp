#pragma once

#include "validation/run_reading.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Returns the layers of every chunk if they are not even (Strategy::layer_split): as the key `pipeline_layout` states
// them; with `chunks_filled: front` filled from the front, with `balanced` so that all chunks have about equal weights;
// or, if layers do not divide, with embedding and loss counted as a layer each, or with the last chunks short. Empty:
// even, or the row lacks a needed value.
std::vector<int> layer_split_of(const RunReading& reading);

// Returns the layers of the chunks of Megatron Core's pipeline layout, such as "Et*4|(t*4|)*14tmL": E embedding, t
// layer, m multi-token prediction, L loss, | end of a chunk, x*n and (...)*n repeated. Empty if the layout cannot be
// read.
std::vector<int> layers_of_pipeline_layout(const std::string& layout);

}  // namespace mirfak
