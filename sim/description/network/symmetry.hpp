#pragma once

#include "network/topology.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Returns the coarsest division of the vertices into classes such that all vertices of a class have the same number of
// links of each bandwidth to and from each class, starting from the kinds of vertices and `marks` (one per vertex, or
// empty). Classes are numbered from 0 by their lowest vertex.
std::vector<int> alike_vertices(const Topology& topology, std::span<const int> marks = {});

}  // namespace mirfak
