#pragma once

#include "plan/search.hpp"

#include <optional>
#include <vector>

namespace mirfak {

// Nodes that a search may use of a cluster, in an order of their types.
struct CandidateCluster {
  Cluster cluster;
  bool first_order = true;  // of all orders of the same nodes
};

// All of a cluster, or so many nodes of each type; types in every order, as stages of one type stand together.
std::vector<CandidateCluster> candidate_clusters(const Cluster& cluster, const SearchSpec& spec);

// The same nodes in another order: each of `stages` stages has its part of every type, so that data-parallel replicas
// differ in type and the stages of a replica do not. Nothing where the nodes do not divide, or the order is the same.
std::optional<Cluster> spread_over_stages(const Cluster& cluster, int stages);

}  // namespace mirfak
