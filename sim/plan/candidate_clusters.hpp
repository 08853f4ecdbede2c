#pragma once

#include "plan/search.hpp"

#include <vector>

namespace mirfak {

// The clusters that a search may use of one: all of it, or so many nodes of each type; types in every order, as stages
// of one type stand together.
std::vector<Cluster> candidate_clusters(const Cluster& cluster, const SearchSpec& spec);

}  // namespace mirfak
