#pragma once

#include "plan/search.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace mirfak {

// Number of nodes of each type of a cluster that a job uses, in the cluster's order of types.
using NodeCounts = std::vector<int>;

int types_of(const NodeCounts& counts);  // number of types with at least one node

// Returns the choices of nodes to try: all nodes of the cluster, or numbers of nodes of each type with at least one
// node in all.
std::vector<NodeCounts> node_choices(const Cluster& cluster, const SearchSpec& spec);

// Returns the cluster as it is and, under a power cap, copies with lower clocks of all GPUs: 99 % of their highest
// clock, 98 %, and so on to 40 %, each where it can be set. No clock is above the one to which a node is set already.
std::vector<Cluster> clock_choices(const Cluster& cluster, const SearchSpec& spec);
// Share of the highest clock to which the GPUs of the `number`-th of these clusters are set.
double clock_share(std::size_t number);

// Returns clusters of these nodes with their types in every order, the order of `cluster` first. Stages of one type lie
// next to each other.
std::vector<std::shared_ptr<const Cluster>> in_every_order(const Cluster& cluster, const NodeCounts& counts);

// Number of GPUs of each type of a cluster, in the cluster's order of types.
std::vector<std::int64_t> gpus_of_types(const Cluster& cluster);

// Returns the cluster's nodes in an order that gives each of `stages` stages a part of every type, so that
// data-parallel replicas differ in type and the stages of a replica do not. Returns nothing if the nodes do not divide,
// or if the order would not change.
std::optional<Cluster> spread_over_stages(const Cluster& cluster, int stages);

}  // namespace mirfak
