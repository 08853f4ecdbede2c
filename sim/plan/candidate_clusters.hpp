#pragma once

#include "plan/search.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace mirfak {

// How many nodes of each type of a cluster a job uses, in the cluster's order of types.
using NodeCounts = std::vector<int>;

int types_of(const NodeCounts& counts);  // how many are used

// All of a cluster, or so many nodes of each type, at least one in all.
std::vector<NodeCounts> node_choices(const Cluster& cluster, const SearchSpec& spec);

// The cluster as it is, and, under a power cap, with the clocks of all its GPUs lower and lower: at 99 % of their
// highest, 98 %, and so on to 40 %, each where it can be set, and never above what a node's is set to already.
std::vector<Cluster> clock_choices(const Cluster& cluster, const SearchSpec& spec);

// The clusters of these nodes with their types in every order, as stages of one type stand together: first that of
// `cluster`.
std::vector<std::shared_ptr<const Cluster>> in_every_order(const Cluster& cluster, const NodeCounts& counts);

// How many GPUs a cluster has of each of its types, in its order.
std::vector<std::int64_t> gpus_of_types(const Cluster& cluster);

// The same nodes in another order: each of `stages` stages has its part of every type, so that data-parallel replicas
// differ in type and the stages of a replica do not. Nothing where the nodes do not divide, or the order is the same.
std::optional<Cluster> spread_over_stages(const Cluster& cluster, int stages);

}  // namespace mirfak
