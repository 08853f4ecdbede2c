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

// Factors of one rank: for its times and, as `port` in addition, for messages that leave its node through its network
// port.
struct RankFactors {
  TimeFactors time;
  double port = 1;

  friend auto operator<=>(const RankFactors&, const RankFactors&) = default;
};

// Distribution for each of TimeFactors; nullopt: the factor is 1.
struct DrawnFactors {
  std::optional<Distribution> compute;
  std::optional<Distribution> communication;
  std::optional<Distribution> host;

  bool empty() const { return !compute && !communication && !host; }
  friend bool operator==(const DrawnFactors&, const DrawnFactors&) = default;
};

// Ranks that are slower or faster than the others of their type. Work that several ranks do together takes as long as
// with the slowest of them.
struct Perturbations {
  std::map<int, TimeFactors> ranks;  // by rank, factors of its node included; no entry: as its hardware states
  std::map<int, double> ports;       // by rank: factors of collectives and transfers that leave its node
  // Popularity of experts in mixtures of experts. A measured popularity also enters the prices of a single iteration
  // (program/expert_load.hpp).
  std::optional<ExpertPopularity> experts;

  // Factors that differ between iterations: drawn for each sample of simulation/spread.hpp, and absent from a single
  // iteration.
  DrawnFactors drawn_ranks;
  DrawnFactors drawn_nodes;
  std::optional<Distribution> drawn_ports;  // factor of every rank's port
  DrawnFactors drawn_iterations;            // factors common to all ranks in a sample
  DrawnFactors jitter;                      // factors of every task, for each kind of its time
  std::optional<Distribution> tokens;       // length factor of the sequences of every microbatch of every replica
  std::uint64_t seed = 1;

  bool empty() const { return ranks.empty() && ports.empty(); }  // no factors of ranks in a single iteration
  bool draws_experts() const { return experts && !experts->measured(); }
  bool is_drawn() const {
    return !drawn_ranks.empty() || !drawn_nodes.empty() || drawn_ports || !drawn_iterations.empty() ||
           !jitter.empty() || tokens || draws_experts();
  }
  RankFactors of(int rank) const;
  std::string yaml() const;  // section as in a scenario, indented below `cluster`; "" if empty
};

// Places of the ranks of a cluster.
struct RankPlaces {
  int ranks = 0;
  int nodes = 0;
  std::function<int(int)> node_of;
};

// Reads the keys of a `perturbations` section:
//   ranks, nodes: [{rank (or node), compute, communication, host}], a CSV file with these columns, or
//                 {compute, communication, host} with a distribution each
//   links:        [{rank, factor}], a CSV file with these columns, or a distribution
//   iterations, jitter: {compute, communication, host} with a distribution each: for all that one iteration does, and
//                 for every task
//   tokens:       a distribution, or a CSV file with the column tokens
//   experts:      see read_expert_popularity()
//   seed
// Each rank and node may appear at most once.
Perturbations read_perturbations(const Node& section, const RankPlaces& places);

}  // namespace mirfak
