#pragma once

#include "base/document.hpp"
#include "cluster/time_factors.hpp"

#include <map>

namespace mirfak {

// Ranks that are slower, or faster, than the others of their type. What several ranks do together takes as long as with
// the slowest of them.
struct Perturbations {
  std::map<int, TimeFactors> ranks;  // by rank; no entry: as its hardware says

  bool empty() const { return ranks.empty(); }
  TimeFactors of(int rank) const {
    const auto found = ranks.find(rank);
    return found == ranks.end() ? TimeFactors{} : found->second;
  }
};

// Reads {ranks: [{rank, compute, communication, host}]} of a cluster with so many ranks, each at most once.
Perturbations read_perturbations(const Node& section, int ranks);

}  // namespace mirfak
