#pragma once

#include <cstdint>
#include <vector>

namespace mirfak {

// Splits layers over chunks by weights: each chunk takes layers until it has more than its share of all weights, to
// which the head adds its own behind the last layer. The last chunk, which has the head, gets fewer. `layer`, `head`:
// weights in any unit, above 0; `chunks`: at least 1. (huggingface/nanotron src/nanotron/models/base.py, build_model.)
std::vector<int> weighted_split(std::int64_t layers, std::int64_t chunks, double layer, double head);

}  // namespace mirfak
