#pragma once

#include "base/document.hpp"

#include <compare>
#include <map>

namespace mirfak {

// How much longer what a rank does takes than its hardware says, by where its time goes. What several ranks do together
// takes as long as with the slowest of them.
struct RankFactors {
  double compute = 1;        // kernels
  double communication = 1;  // collectives and transfers
  double host = 1;           // issuing work

  friend auto operator<=>(const RankFactors&, const RankFactors&) = default;
};

// Ranks that are slower, or faster, than the others of their type.
struct Perturbations {
  std::map<int, RankFactors> ranks;  // by rank; no entry: as its hardware says

  bool empty() const { return ranks.empty(); }
  RankFactors of(int rank) const {
    const auto found = ranks.find(rank);
    return found == ranks.end() ? RankFactors{} : found->second;
  }
};

// Reads {ranks: [{rank, compute, communication, host}]} of a cluster with so many ranks, each at most once.
Perturbations read_perturbations(const Node& section, int ranks);

}  // namespace mirfak
