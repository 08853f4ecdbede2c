#pragma once

#include "program/replica_classes.hpp"

namespace mirfak {

// The replica whose placement decides what a class pays for communication: its first; of replicas that only their
// perturbations divide, the first of all, so that a factor next to 1 changes next to nothing.
int placed_as(const Job& job, const ReplicaClass& own);

}  // namespace mirfak
