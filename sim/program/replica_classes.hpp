#pragma once

#include "program/job.hpp"

#include <vector>

namespace mirfak {

// Data-parallel replicas that behave alike: on each stage the same hardware, the same placement of the groups that
// passes communicate in and the same factors of perturbed ranks, and equally many microbatches.
struct ReplicaClass {
  std::vector<int> replicas;  // places in the data-parallel groups, ascending, not empty
  int microbatches = 0;       // of each of them

  int first() const { return replicas.front(); }  // stands for the others
  int count() const { return static_cast<int>(replicas.size()); }
};

// Whether one rank of a stage can stand for all of a class. Not where ranks that run every pass together, or share a
// sharded copy of the state, are perturbed differently, and not where each message has a path of its own by a hash:
// then every rank of a program is explicit (lower()), and classes take no notice of perturbations.
bool folds(const Job& job);

// The classes in the order of their first replicas. A job whose replicas all have the same hardware and equally many
// microbatches has one class, for which the first replica stands wherever the others lie; perturbations divide it.
// Error(infeasible) if a tensor
// and context team, or the replicas that divide experts among them, lie on several types of nodes; and if a sharding
// group that is not all replicas holds replicas of several classes.
// Where stages have shapes of their own, the replicas of each are one class, here those of the stage with most;
// Error(infeasible) if a stage lies on several types of nodes.
std::vector<ReplicaClass> replica_classes(const Job& job);
// The same of one stage.
std::vector<ReplicaClass> replica_classes(const Job& job, int stage);

}  // namespace mirfak
