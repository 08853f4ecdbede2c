#pragma once

#include "plan/search.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mirfak::test {

// A strategy that keeps all rules, simulated by itself.
struct JudgedStrategy {
  std::shared_ptr<const Job> job;  // that was asked about
  Cluster cluster;                 // its nodes, in the order of ranks
  Strategy strategy;
  std::string layout;  // its nodes in their order, and the sizes of its groups
  double free = 0;     // the least share of a device's or host's memory that it leaves; below 0: it does not fit
  double chance = 0;   // probability of fitting (IterationResult::fit_probability)
  double time_s = 0;
  double cost_usd = 0;
  double energy_j = 0;
  int clock_percent = 100;  // of the highest clock, at which all GPUs run
};

// Every strategy of a space on the whole of a job's cluster, in the order of the space: plain loops, the rules, and
// simulate(). Nothing of the search is used. On a cluster of several types of nodes, stages or replicas have one type
// each, and stages shapes of their own where the space has them; `first_order`: of all orders of the types, this one is
// asked for what does not depend on the order.
std::vector<JudgedStrategy> simulate_all(const Job& job, const StrategySpace& space, bool first_order = true);

// Lowers the clocks of all GPUs of those that do not keep a power cap, percent by percent down to 40 %, until they do,
// and leaves out those that never do. From what keeps a higher cap, the same follows as from the highest clocks.
std::vector<JudgedStrategy> keeping_cap(const std::vector<JudgedStrategy>& all, double cap_w);

// A layout that a search for `spec` has to find: its best strategy, and its variants. Of `all`, those count that keep
// the cap at some clock where there is one (keeping_cap).
struct FoundLayout {
  JudgedStrategy best;
  std::vector<JudgedStrategy> variants;
};
std::vector<FoundLayout> best_of(const std::vector<JudgedStrategy>& all, const SearchSpec& spec);

// All fields, to compare and to print.
std::string text_of(const Strategy& strategy);

}  // namespace mirfak::test
