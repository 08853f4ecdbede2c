#pragma once

#include "plan/search.hpp"

#include <string>
#include <vector>

namespace mirfak::test {

// A job and a space of some hundred strategies, small enough to simulate all of them.
struct SmallSpace {
  std::string name;
  Job job;
  StrategySpace space;
};

// Dense models and mixtures, one node to four, each dimension of a strategy in some of them.
std::vector<SmallSpace> small_spaces();

// Two types of nodes in one cluster, stages on one or the other.
SmallSpace two_node_types();

// A GPT or, with `experts`, a mixture of these in every layer. Sizes as given, the rest small.
ModelSpec small_model(int layers, int hidden, bool tied_embeddings, int experts = 0);

// Nodes of a type from hw_profiles, their GPUs' memory as given; 0: as it is.
Cluster small_cluster(const std::string& node, int nodes, double memory_bytes = 0);

Job small_job(ModelSpec model, Cluster cluster, const std::string& framework, std::int64_t global_batch);

// A space of one strategy: no parallelism but data, nothing else used.
StrategySpace smallest_space();

}  // namespace mirfak::test
