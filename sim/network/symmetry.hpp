#pragma once

#include "network/topology.hpp"

#include <span>
#include <vector>

namespace mirfak {

// The coarsest division of the vertices into classes such that every vertex of a class has links of the same bandwidths
// to each class (colour refinement; an equitable partition), starting from kinds and `marks` (of each vertex, or
// empty). Classes are numbered from 0 by their lowest vertex. Refined by 64-bit hashes of the neighbourhoods.
std::vector<int> alike_vertices(const Topology& topology, std::span<const int> marks = {});

}  // namespace mirfak
