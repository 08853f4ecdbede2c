#pragma once

#include "cluster/cluster.hpp"
#include "engine/execute.hpp"
#include "engine/timeline.hpp"
#include "program/program.hpp"

namespace mirfak {

// Executes a program whose ranks share GPUs: the compute streams of the ranks on one GPU are one stream. So their
// kernels take turns in the order of the program, each as long as on a GPU of its own, and a kernel that waits holds up
// those behind it; transfers, collectives and hosts are each rank's own. What copies and kernels that run at the same
// time cost each other is not in it.
//
// `program`: with every rank of a GPU explicit (LoweringOptions::whole_teams), and every kernel a task where kernels
// are to take turns (else passes do). Rank r runs on device r of `cluster`. The rest as execute().
Timeline execute_sharing_gpus(Program program, const Cluster& cluster, Executor executor = Executor::automatic);

// For how long, on the mean over ranks, the GPU of a rank runs kernels of other ranks.
double seconds_of_others(const Program& program, const Timeline& timeline, const Cluster& cluster);

}  // namespace mirfak
