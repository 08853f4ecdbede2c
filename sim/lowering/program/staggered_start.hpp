#pragma once

#include "program/job.hpp"
#include "program/program.hpp"

namespace mirfak {

// Returns the group of StaggeredReplicas that a replica begins with, 0 for the first; 0 for all without such groups.
int stagger_group(const Job& job, int replica);

// Returns the program with replicas that begin one group after the other, as cluster.staggered_replicas says: the
// host and the compute stream of each rank of a later group begin with a task that takes as long as its group waits,
// and draws nothing. Without that key the program stays as it is. Error(infeasible) for jobs whose replicas have no
// beginning of their own: stages of their own shapes, perturbed ranks, and ranks that share GPUs.
Program staggered(Program program, const Job& job);

}  // namespace mirfak
