#pragma once

#include "cluster/cluster.hpp"
#include "engine/execute.hpp"
#include "engine/timeline.hpp"
#include "program/program.hpp"

namespace mirfak {

// Executes a program whose ranks share GPUs: the compute streams of the ranks on one GPU become one stream. So their
// kernels take turns in the order of the program, each as long as on a GPU of its own, and a kernel that waits holds up
// the later ones; transfers, collectives and hosts remain each rank's own. The model leaves out how copies and kernels
// that run at the same time slow each other.
//
// `program`: a program with every rank of a GPU explicit (LoweringOptions::whole_teams), and with every kernel as a
// task if kernels are to take turns (else passes do). Rank r runs on device r of `cluster`. Everything else is as for
// execute().
Timeline execute_sharing_gpus(Program program, const Cluster& cluster, Executor executor = Executor::automatic);

// Returns the time, as the mean over ranks, during which the GPU of a rank runs kernels of other ranks.
double seconds_of_others(const Program& program, const Timeline& timeline, const Cluster& cluster);

}  // namespace mirfak
