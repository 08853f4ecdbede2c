#pragma once

#include "cluster/cluster.hpp"
#include "program/job.hpp"
#include "program/program.hpp"
#include "program/stage_plan.hpp"

#include <span>

namespace mirfak {

// Returns the program as perturbed ranks run it: the same tasks, streams and dependencies, with other durations. Passes
// have the factors of their ranks from the start (TaskClass::slowed). Any other task takes the factors of its rank; a
// task that a group does together takes the largest factor among the ranks of the group. Each factor applies to the
// part of the task's time that it is about (TaskClass::activity_s). A task that takes longer demands less of links. A
// rank of a folded program has the factors of all ranks that it stands for: see folds() in program/replica_classes.hpp.
// A task that leaves a node also takes the factor of the slowest port among its ranks; such programs are not folded.
Program perturbed(Program program, const Cluster& cluster);

// Returns the perturbed program of a folded program whose ranks stand for unlike ranks: each rank has the largest
// factors among the ranks that it stands for, so that the iteration is as long as with all of them, or longer.
Program perturbed_by_slowest(Program program, const Job& job, std::span<const StagePlan> plans);

}  // namespace mirfak
