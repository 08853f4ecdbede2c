#pragma once

#include "program/job.hpp"

#include <vector>

namespace mirfak {

// Data-parallel replicas that behave alike: on each stage they have the same hardware, the same placement of the groups
// that passes communicate in and the same factors of perturbed ranks; all have equally many microbatches.
struct ReplicaClass {
  std::vector<int> replicas;  // places in the data-parallel groups, ascending, not empty
  int microbatches = 0;       // number that each replica runs

  int first() const { return replicas.front(); }  // the replica that stands for the others
  int count() const { return static_cast<int>(replicas.size()); }
};

// True if one rank of a stage can stand for all ranks of a class. False if ranks that run every pass together, or that
// share a sharded copy of the state, are perturbed differently, and false if a hash chooses a path for each message:
// then every rank of a program is explicit (lower()), and classes ignore perturbations.
bool folds(const Job& job);

// The classes in the order of their first replicas. A job whose replicas all have the same hardware and equally many
// microbatches has one class, for which the first replica stands wherever the other replicas are placed; perturbations
// divide the class. Error(infeasible) if a tensor and context team, or the replicas that divide experts among them, lie
// on several types of nodes; and if a sharding group that does not contain all replicas has replicas of several
// classes.
// If stages have shapes of their own, the replicas of each stage are one class, and the result has the replicas of
// the stage with most; Error(infeasible) if a stage lies on several types of nodes.
std::vector<ReplicaClass> replica_classes(const Job& job);
// The classes of the replicas of one stage.
std::vector<ReplicaClass> replica_classes(const Job& job, int stage);

}  // namespace mirfak
