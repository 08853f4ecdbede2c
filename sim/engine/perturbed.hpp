#pragma once

#include "cluster/cluster.hpp"
#include "program/job.hpp"
#include "program/program.hpp"
#include "program/stage_plan.hpp"

#include <span>

namespace mirfak {

// The program as perturbed ranks run it: the same tasks, streams and dependencies, with other durations. Passes have
// the factors of their ranks from the start (TaskClass::slowed); any other task takes the factors of its rank, what a
// group does together the largest among its ranks, each for the part of its time that it is about
// (TaskClass::activity_s); a task that takes longer demands less of links. A rank of a folded program has the factors
// of all that it stands for: see folds() in program/replica_classes.hpp. What leaves a node takes the factor of the
// slowest port among its ranks besides; such programs are not folded.
Program perturbed(Program program, const Cluster& cluster);

// The same of a folded program whose ranks stand for unlike ones: each has the largest factors among these, so that the
// iteration is as long as with all of them, or longer.
Program perturbed_by_slowest(Program program, const Job& job, std::span<const StagePlan> plans);

}  // namespace mirfak
