#pragma once

#include "program/replica_classes.hpp"

namespace mirfak {

// The replica whose placement decides the price of a class's communication: the first replica of the class. If only
// perturbations divide the replicas into classes, it is the first of all replicas, so that a factor near 1 changes
// almost nothing.
int placed_as(const Job& job, const ReplicaClass& own);

}  // namespace mirfak
