#pragma once

#include "base/document.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mirfak {

// How unevenly tokens choose among the experts of a layer, where none is dropped. Either measured, and the same in all
// layers and microbatches: expert i gets tokens[i] of every sum(tokens). Or by Zipf's law, the i-th most popular in
// proportion to i^-skew, where which expert is how popular is drawn for every layer and microbatch.
struct ExpertPopularity {
  double skew = 0;
  std::vector<double> tokens;  // of each expert; empty: by the law

  bool measured() const { return !tokens.empty(); }
  // Tokens of each expert over those of the mean one: measured, or by the law in falling order. A token visits
  // `per_token` different experts, so that none has more than experts / per_token; what the law gives the first beyond
  // that goes to the others in proportion. measured(): there are tokens.size() `experts`.
  std::vector<double> loads(int experts, int per_token) const;
  std::string yaml() const;  // as a scenario writes it

  friend bool operator==(const ExpertPopularity&, const ExpertPopularity&) = default;
};

// The most that the experts of one rank get, over what those of the mean rank do: `ranks` take turns of so many `loads`
// in a row, as many each. Exactly 1 where all loads are equal.
double fullest_rank(const std::vector<double>& loads, int ranks);

// That of `count` random placements of experts with these loads, ascending.
std::vector<double> fullest_ranks(const std::vector<double>& loads, int ranks, int count, std::uint64_t seed);

// Reads {skew}, {tokens: [...]} or the path of a CSV file with the columns expert (each from 0 once) and tokens.
ExpertPopularity read_expert_popularity(const Node& node);

}  // namespace mirfak
