#pragma once

#include "base/document.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

// Distribution of the tokens of a layer over its experts, if no token is dropped. A measured distribution is the same
// in all layers and microbatches: expert i gets tokens[i] of every sum(tokens). By Zipf's law, the i-th most popular
// expert gets tokens in proportion to i^-skew, and the ranking of the experts is drawn for every layer and microbatch.
struct ExpertPopularity {
  double skew = 0;
  std::vector<double> tokens;  // tokens of each expert; empty: Zipf's law

  bool measured() const { return !tokens.empty(); }
  // Returns the tokens of each expert divided by the mean over experts: measured, or by the law in falling order. A
  // token visits `per_token` different experts, so no expert gets more than experts / per_token; by the law, the excess
  // of the first experts goes to the others in proportion. If measured(), `experts` must be tokens.size().
  std::vector<double> loads(int experts, int per_token) const;
  std::string yaml() const;  // as in a scenario

  friend bool operator==(const ExpertPopularity&, const ExpertPopularity&) = default;
};

// Returns the load of the fullest rank over the mean load of ranks, if `ranks` ranks take equally many consecutive
// entries of `loads` each. Exactly 1 if all loads are equal.
double fullest_rank(const std::vector<double>& loads, int ranks);

// Returns fullest_rank() for each of `count` random placements of experts with these loads, ascending.
std::vector<double> fullest_ranks(const std::vector<double>& loads, int ranks, int count, std::uint64_t seed);

// Reads {skew}, {tokens: [...]} or the path of a CSV file with the columns expert (each from 0 once) and tokens.
ExpertPopularity read_expert_popularity(const Node& node);

}  // namespace mirfak
