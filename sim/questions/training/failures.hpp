#pragma once

#include "cluster/cluster.hpp"
#include "training/random.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Unit for which a rate of failures is stated. A group is a number of neighbouring nodes (a rack, a switch).
enum class FailureUnit { gpu, node, link, group, job };
double unit_count(FailureUnit unit, const Cluster& cluster, int nodes_of_group);

// One kind of thing that interrupts a training.
struct FailureCause {
  std::string name;       // "gpu", "switch"
  double rate_per_s = 0;  // rate of the whole job, on equally good nodes: a Poisson process
  int nodes = 0;          // neighbouring nodes that it takes out of service; 0: a restart is enough
  double repair_s = 0;    // time until these nodes can be used again; 0: at once, or they are replaced at once
  double notice_s = 0;    // warning time: if it is long enough, the state is saved, and nothing needs to be detected
  bool unpaid = false;    // its nodes cost nothing while they are away, because they were preempted
  std::string source;
  FailureUnit per = FailureUnit::job;  // unit that its rate grows with; a group has `nodes` nodes
};

// A failure that happened, `time_s` after the training began.
struct LoggedFailure {
  double time_s = 0;
  std::size_t cause = 0;
};

// Quality of nodes: the failure rate of each node over that of a plain one.
struct NodeSpread {
  std::vector<double> factors;  // factors of the job's nodes, then of spares; nodes beyond its end are plain
  double sigma = 0;  // above 0: factors are log-normal with mean 1 and this standard deviation of the logarithm

  bool uniform() const { return factors.empty() && sigma == 0; }
  std::vector<double> draw(std::size_t nodes, RandomStream& random) const;
};

struct Failures {
  std::vector<FailureCause> causes;
  std::vector<LoggedFailure> log;  // not empty: these failures happen, in this order, and no random ones
  NodeSpread spread;

  double rate_per_s() const;  // total of all causes
};

}  // namespace mirfak
