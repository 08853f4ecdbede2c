#pragma once

#include "base/document.hpp"
#include "cluster/distribution.hpp"
#include "cluster/expert_popularity.hpp"
#include "cluster/time_factors.hpp"

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace mirfak {

// Of one rank: how much longer what it does takes, and what leaves its node through its network port besides.
struct RankFactors {
  TimeFactors time;
  double port = 1;

  friend auto operator<=>(const RankFactors&, const RankFactors&) = default;
};

// A distribution for each of TimeFactors; nullopt: 1.
struct DrawnFactors {
  std::optional<Distribution> compute;
  std::optional<Distribution> communication;
  std::optional<Distribution> host;

  bool empty() const { return !compute && !communication && !host; }
  friend bool operator==(const DrawnFactors&, const DrawnFactors&) = default;
};

// Ranks that are slower, or faster, than the others of their type. What several ranks do together takes as long as with
// the slowest of them.
struct Perturbations {
  std::map<int, TimeFactors> ranks;  // by rank; no entry: as its hardware says. Of its node too, if nodes have factors
  std::map<int, double> ports;       // by rank: collectives and transfers that leave its node
  // Of mixtures of experts. Measured: of a single iteration too, whose prices have it (program/expert_load.hpp).
  std::optional<ExpertPopularity> experts;

  // What no single iteration has, but each of many its own: drawn for each sample of simulation/spread.hpp.
  DrawnFactors drawn_ranks;
  DrawnFactors drawn_nodes;
  std::optional<Distribution> drawn_ports;  // of every rank
  DrawnFactors drawn_iterations;            // of all ranks in a sample alike
  DrawnFactors jitter;                      // of every task, in each kind of its time
  std::optional<Distribution> tokens;  // of every microbatch of every replica: how many times as long its sequences
  std::uint64_t seed = 1;

  bool empty() const { return ranks.empty() && ports.empty(); }  // of ranks in a single iteration
  bool draws_experts() const { return experts && !experts->measured(); }
  bool is_drawn() const {
    return !drawn_ranks.empty() || !drawn_nodes.empty() || drawn_ports || !drawn_iterations.empty() ||
           !jitter.empty() || tokens || draws_experts();
  }
  RankFactors of(int rank) const;
  std::string yaml() const;  // the section as a scenario writes it, indented below `cluster`; "" where nothing is said
};

// Where the ranks of a cluster are.
struct RankPlaces {
  int ranks = 0;
  int nodes = 0;
  std::function<int(int)> node_of;
};

// Reads
//   ranks, nodes: [{rank (or node), compute, communication, host}], a CSV file with these columns, or
//                 {compute, communication, host} with a distribution each
//   links:        [{rank, factor}], a CSV file with these columns, or a distribution
//   iterations, jitter: {compute, communication, host} with a distribution each: of all that one iteration does, and of
//                 every task
//   tokens:       a distribution, or a CSV file with the column tokens
//   experts:      as read_expert_popularity()
//   seed
// Each rank and node at most once.
Perturbations read_perturbations(const Node& section, const RankPlaces& places);

}  // namespace mirfak
