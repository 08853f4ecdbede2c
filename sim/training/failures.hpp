#pragma once

#include "cluster/cluster.hpp"
#include "training/random.hpp"

#include <string>
#include <vector>

namespace mirfak {

// What a rate of failures is stated of; a group: so many neighbouring nodes (a rack, a switch).
enum class FailureUnit { gpu, node, link, group, job };
double unit_count(FailureUnit unit, const Cluster& cluster, int nodes_of_group);

// One kind of thing that interrupts a training.
struct FailureCause {
  std::string name;       // "gpu", "switch"
  double rate_per_s = 0;  // of the whole job, on nodes that are as good as each other: a Poisson process
  int nodes = 0;          // that it takes out of service, neighbours; 0: a restart is enough
  double repair_s = 0;    // until they can be used again; 0: at once, or they are replaced at once
  double notice_s = 0;    // that it gives: the state is saved if that is long enough, and nothing needs be detected
  bool unpaid = false;    // its nodes cost nothing while they are away: they were preempted
  std::string source;
  FailureUnit per = FailureUnit::job;  // what its rate grows with: `nodes` of a group
};

// A failure that happened, `time_s` after the training began.
struct LoggedFailure {
  double time_s = 0;
  std::size_t cause = 0;
};

// How good nodes are: the rate of each node's failures over that of a plain one.
struct NodeSpread {
  std::vector<double> factors;  // of the job's nodes, then of spares; those beyond its end are plain ones
  double sigma = 0;  // above 0: factors are log-normal with mean 1 and this standard deviation of the logarithm

  bool uniform() const { return factors.empty() && sigma == 0; }
  std::vector<double> draw(std::size_t nodes, RandomStream& random) const;
};

struct Failures {
  std::vector<FailureCause> causes;
  std::vector<LoggedFailure> log;  // not empty: these happen, in this order, and none of their own accord
  NodeSpread spread;

  double rate_per_s() const;  // of all causes
  // Of those that a state in memory with `survives` copies beside its own does, or does not, outlive.
  double rate_within(int survives) const;
};

}  // namespace mirfak
